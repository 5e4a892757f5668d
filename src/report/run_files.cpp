#include "report/run_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/check.h"
#include "base/open_regular.h"
#include "base/run_files.h"
#include "base/valid_utf8.h"
#include "report/incident_files.h"

namespace megalith::report {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& dir) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path());
  std::ranges::sort(files);
  return files;
}

// 10 for "iter_0000010"; -1 for other names.
i64 saved_iteration(const std::string& name) {
  if (!name.starts_with("iter_") || name.size() > 20) return -1;
  const std::string digits = name.substr(5);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoll(digits);
}

SavedIteration look_at_save(const fs::path& dir, i64 iteration) {
  SavedIteration s{.iteration = iteration};
  std::error_code error;
  for (const fs::path& file : files_in(dir)) {
    if (!fs::is_regular_file(file, error)) continue;
    const auto bytes = fs::file_size(file, error);
    if (error) continue;
    s.bytes += i64(bytes);
    const auto time = fs::last_write_time(file, error);
    if (error) continue;
    const auto unix_time = std::chrono::file_clock::to_sys(time).time_since_epoch();
    s.at = std::max(s.at, std::chrono::duration<double>(unix_time).count());
  }
  return s;
}

// Parses "  name ..... value" in each line between the rulers.
std::vector<ArgumentText> read_arguments(const fs::path& path) {
  std::vector<ArgumentText> arguments;
  std::ifstream in = open_regular(path.string());
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("  ")) continue;
    const std::size_t name_end = line.find(' ', 2);
    const std::size_t dots = name_end == std::string::npos ? name_end : line.find_first_not_of('.', name_end + 1);
    if (dots == std::string::npos || line[dots] != ' ') continue;
    arguments.emplace_back(valid_utf8(line.substr(2, name_end - 2)), valid_utf8(line.substr(dots + 1)));
  }
  return arguments;
}

// The arguments of the last start, which has the newest file.
void find_arguments(RunFiles& run) {
  fs::file_time_type newest{};
  std::error_code error;
  for (const fs::path& file : files_in(run.dir)) {
    const std::string name = file.filename().string();
    if (!name.starts_with("arguments_") || !name.ends_with(".txt")) continue;
    const auto time = fs::last_write_time(file, error);
    if (error || (!run.arguments_path.empty() && time < newest)) continue;
    newest = time, run.arguments_path = file.string();
  }
  if (run.arguments_path.empty())
    run.notes.push_back("no file of arguments is there (arguments_*.txt)");
  else
    run.arguments = read_arguments(run.arguments_path);
}

std::string metrics_of(const RunFiles& run) {
  std::vector<fs::path> places;
  for (const auto& [name, value] : run.arguments)
    if (name == "metrics_file" && !value.empty() && value != "None")
      places = {value, fs::path(run.dir) / value, fs::path(run.dir) / fs::path(value).filename()};
  places.push_back(fs::path(run.dir) / "metrics.jsonl");
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::is_regular_file(place, error)) return place.string();
  return {};
}

}  // namespace

RunFiles read_run(const std::string& dir, const std::string& metrics) {
  std::error_code error;
  check(fs::is_directory(dir, error), "{}: there is no such directory: give the --save directory of a run", dir);
  RunFiles run{.dir = dir};
  find_arguments(run);
  run.metrics_path = metrics.empty() ? metrics_of(run) : metrics;
  if (run.metrics_path.empty())
    run.notes.push_back("no metrics file was found: train with --metrics-file, or name it with --metrics");
  else
    run.metrics = read_metric_lines(run.metrics_path);
  if (run.metrics.passed_over > 0)
    run.notes.push_back(fmt::format("{} line{} of the metrics file could not be read", run.metrics.passed_over,
                                    run.metrics.passed_over == 1 ? "" : "s"));
  for (const fs::path& file : files_in(dir))
    if (const i64 iteration = saved_iteration(file.filename().string()); iteration >= 0)
      run.saves.push_back(look_at_save(file, iteration));
  std::ranges::sort(run.saves, {}, &SavedIteration::iteration);
  run.ledger = read_ledger((fs::path(dir) / kLedgerFile).string());
  run.time = sum_ledger(run.ledger);
  run.ranks = read_ranks((fs::path(dir) / kRanksFile).string());
  run.incidents = read_incidents((fs::path(dir) / "incidents").string());
  return run;
}

}  // namespace megalith::report
