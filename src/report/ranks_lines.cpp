#include "report/ranks_lines.h"

#include <algorithm>

#include "base/open_regular.h"
#include "base/parse_json.h"
#include "base/valid_utf8.h"

namespace megalith::report {

namespace {

using nlohmann::ordered_json;

std::string text_in(const ordered_json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? valid_utf8(it->get<std::string>()) : "";
}

i64 whole_in(const ordered_json& object, const char* name, i64 otherwise) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number_integer() ? it->get<i64>() : otherwise;
}

// Empty if the value is not a list of numbers.
std::vector<double> numbers_in(const ordered_json& object, const char* name) {
  std::vector<double> out;
  const auto it = object.find(name);
  if (it == object.end() || !it->is_array()) return out;
  for (const ordered_json& x : *it) {
    if (!x.is_number()) return {};
    out.push_back(x.get<double>());
  }
  return out;
}

void take_ranks(const ordered_json& line, RanksOfRun& out) {
  const auto list = line.find("ranks");
  if (list == line.end() || !list->is_array()) return;
  out.ranks.clear();
  for (const ordered_json& r : *list) {
    if (!r.is_object()) return out.ranks.clear();
    out.ranks.push_back({text_in(r, "host"), whole_in(r, "stage", 0), text_in(r, "bus"), whole_in(r, "gpu", -1)});
  }
}

void take_memory_line(const ordered_json& line, RanksOfRun& out) {
  const auto bytes = line.find("bytes");
  if (bytes == line.end() || !bytes->is_object()) return;
  out.memory.clear();
  for (const auto& [name, value] : bytes->items())
    if (value.is_number()) out.memory.emplace_back(valid_utf8(name), value.get<double>());
}

void take_line(const ordered_json& line, RanksOfRun& out) {
  const std::string event = text_in(line, "event");
  const i64 iteration = whole_in(line, "iteration", 0);
  if (event == "start") take_ranks(line, out);
  if (event == "memory") take_memory_line(line, out);
  if (event == "own_work")
    if (std::vector<double> ms = numbers_in(line, "own_ms"); !ms.empty())
      out.own_work.push_back({iteration, std::move(ms)});
  if (event == "end") out.planned = numbers_in(line, "planned_bytes"), out.used = numbers_in(line, "used_bytes");
}

}  // namespace

const OwnWorkLine* RanksOfRun::own_work_at(i64 iteration) const {
  const auto it = std::ranges::lower_bound(own_work, iteration, {}, &OwnWorkLine::iteration);
  return it != own_work.end() && it->iteration == iteration ? &*it : nullptr;
}

RanksOfRun read_ranks(const std::string& path) {
  RanksOfRun out;
  std::ifstream in = open_regular(path);
  for (std::string text; std::getline(in, text);) {
    const auto line = parse_json<ordered_json>(text);
    if (line.is_object() && line.contains("event"))
      take_line(line, out);
    else
      ++out.passed_over;
  }
  // If an iteration has two lines, the later one counts, because the first is from before a resume.
  std::ranges::stable_sort(out.own_work, {}, &OwnWorkLine::iteration);
  std::vector<OwnWorkLine> once;
  for (OwnWorkLine& line : out.own_work) {
    if (!once.empty() && once.back().iteration == line.iteration) once.pop_back();
    once.push_back(std::move(line));
  }
  out.own_work = std::move(once);
  return out;
}

}  // namespace megalith::report
