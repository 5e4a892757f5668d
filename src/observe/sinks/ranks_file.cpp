#include "observe/sinks/ranks_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/append_file.h"
#include "base/log.h"
#include "base/run_files.h"

namespace megalith {

using nlohmann::ordered_json;

static constexpr const char* kFileOfRanks = "file of ranks";

static double to_thousandths(double x) { return std::round(x * 1e3) / 1e3; }

RanksFile::RanksFile(const std::filesystem::path& folder, i64 iteration, std::function<double()> now)
    : path_(folder / kRanksFile), iteration_(iteration), now_(std::move(now)) {
  try {
    AppendFile(path_, kFileOfRanks);
  } catch (const Error& e) {
    is_lost_ = true;
    log::warn("{}: the run's report will lack its ranks", e.what());
  }
}

// The file is open only while a line is written. So a failing disk can be remounted read-only during a run.
void RanksFile::append(const std::string& line) {
  if (is_lost_) return;
  try {
    is_lost_ = !AppendFile(path_, kFileOfRanks, AppendFile::Missing::fail).append(line + "\n");
  } catch (const Error&) {  // saves tell it
  }
}

static ordered_json line_of(const char* event, double time, i64 iteration) {
  return {{"event", event}, {"time", to_thousandths(time)}, {"iteration", iteration}};
}

static std::string text_of_line(const ordered_json& line) {
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void RanksFile::take_ranks(std::span<const PlaceOfRank> ranks) {
  ordered_json line = line_of("start", now_(), iteration_), &list = line["ranks"] = ordered_json::array();
  for (const PlaceOfRank& r : ranks) {
    ordered_json place{{"rank", r.rank}, {"host", r.host}, {"stage", r.stage}};
    if (!r.bus.empty()) place["bus"] = r.bus;
    if (r.gpu >= 0) place["gpu"] = r.gpu;
    list.push_back(std::move(place));
  }
  append(text_of_line(line));
}

void RanksFile::take_own_work(std::span<const OwnWork> ranks) {
  ordered_json line = line_of("own_work", now_(), iteration_), &list = line["own_ms"] = ordered_json::array();
  for (const OwnWork& r : ranks) list.push_back(to_thousandths(1e3 * r.seconds));
  append(text_of_line(line));
}

void RanksFile::take_memory(const MemoryTold& memory) {
  constexpr double kGrown = 1.01;
  ordered_json line = line_of("memory", now_(), iteration_);
  line["stage"] = memory.stage;
  ordered_json& bytes = line["bytes"] = ordered_json::object();
  double peak = 0;
  for (const NamedValue& v : memory.bytes) {
    bytes[v.name] = i64(v.value);
    if (v.name == "used_peak") peak = v.value;
  }
  if (told_bytes_ > 0 && peak <= kGrown * told_bytes_) return;
  told_bytes_ = peak;
  append(text_of_line(line));
}

void RanksFile::take_memory_use(std::span<const MemoryUse> ranks) {
  ordered_json line = line_of("end", now_(), iteration_);
  line["planned_bytes"] = ordered_json::array(), line["used_bytes"] = ordered_json::array();
  for (const MemoryUse& r : ranks) line["planned_bytes"].push_back(r.planned), line["used_bytes"].push_back(r.used);
  append(text_of_line(line));
}

}  // namespace megalith
