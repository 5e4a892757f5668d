#include "goodput/ledger_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/open_regular.h"

namespace megalith {

namespace {

using nlohmann::json;
using Event = LedgerRecord::Event;

constexpr std::array<const char*, 3> kEvents = {"start", "time", "end"};

// The content of a record.
std::optional<LedgerRecord> parse_record(const std::string& line) {
  const json j = json::parse(line, nullptr, false);
  if (!j.is_object() || !j.contains("at") || !j["at"].is_number()) return {};
  if (!j.contains("event") || !j["event"].is_string()) return {};
  const auto event = std::ranges::find(kEvents, j["event"].get<std::string>());
  if (event == kEvents.end()) return {};
  LedgerRecord r{.event = Event(event - kEvents.begin()), .at = j["at"].get<double>()};
  if (j.contains("iteration") && j["iteration"].is_number_integer()) r.iteration = j["iteration"].get<i64>();
  if (j.contains("stack") && j["stack"].is_string()) r.stack = j["stack"].get<std::string>();
  if (!j.contains("seconds") || !j["seconds"].is_object()) return r;
  for (const auto& [name, value] : j["seconds"].items()) {
    const auto state = std::ranges::find(kTimeStates, name);
    if (state != kTimeStates.end() && value.is_number())
      r.seconds[size_t(state - kTimeStates.begin())] = std::max(0.0, value.get<double>());
  }
  return r;
}

bool is_undone_with_its_step(TimeState s) {
  return s == TimeState::train || s == TimeState::data_wait || s == TimeState::eval || s == TimeState::save_stall;
}

}  // namespace

std::string ledger_line(const LedgerRecord& r) {
  nlohmann::ordered_json j = {{"event", kEvents[size_t(r.event)]}, {"at", r.at}, {"iteration", r.iteration}};
  if (!r.stack.empty()) j["stack"] = r.stack;
  if (r.event != Event::start) {
    j["seconds"] = nlohmann::ordered_json::object();
    for (size_t s = 0; s < r.seconds.size(); ++s)
      if (r.seconds[s] > 0) j["seconds"][std::string(kTimeStates[s])] = r.seconds[s];
  }
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<LedgerRecord> read_ledger(const std::string& path) {
  std::vector<LedgerRecord> records;
  std::ifstream in = open_regular(path);
  for (std::string line; std::getline(in, line);)
    if (auto record = parse_record(line)) records.push_back(std::move(*record));
  return records;
}

double LedgerTotal::wall() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double LedgerTotal::goodput() const {
  const double all = wall();
  return all > 0 ? seconds[size_t(TimeState::train)] / all : 0;
}

// Backwards, because a start decides whether earlier records are lost steps.
LedgerTotal sum_ledger(const std::vector<LedgerRecord>& records) {
  LedgerTotal total;
  i64 kept = std::numeric_limits<i64>::max();  // the smallest first iteration of any later start
  for (size_t i = records.size(); i-- > 0;) {
    const LedgerRecord& r = records[i];
    if (r.event == Event::start) {
      ++total.starts;
      kept = std::min(kept, r.iteration);
      if (i == 0) continue;
      const bool in_order = records[i - 1].event == Event::end;
      total.seconds[size_t(in_order ? TimeState::idle : TimeState::restart)] += std::max(0.0, r.at - records[i - 1].at);
      continue;
    }
    for (size_t s = 0; s < r.seconds.size(); ++s) {
      const bool lost = r.iteration > kept && is_undone_with_its_step(TimeState(s));
      total.seconds[lost ? size_t(TimeState::lost) : s] += r.seconds[s];
    }
  }
  return total;
}

std::string goodput_line(const LedgerTotal& t) {
  std::string states;
  for (size_t s = 0; s < t.seconds.size(); ++s)
    states += fmt::format("{}{} {:.1f}", s == 0 ? "" : ", ", kTimeStates[s], t.seconds[s]);
  return fmt::format("goodput {:.1f}% of {:.1f} s in {} start{}; seconds: {}", 100 * t.goodput(), t.wall(), t.starts,
                     t.starts == 1 ? "" : "s", states);
}

}  // namespace megalith
