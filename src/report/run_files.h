// Reads all files of a run in its save directory.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/ledger_file.h"
#include "report/metric_lines.h"
#include "report/ranks_lines.h"

namespace megalith::report {

struct SavedIteration {
  i64 iteration = 0;
  i64 bytes = 0;
  double at = 0;  // Unix time of its newest file
};

// A file of SAVE/incidents. Missing members are empty.
struct IncidentFile {
  std::string file;
  i64 iteration = 0;
  std::string reason{}, rank{}, layer{}, tensor{}, documents{};
};

using ArgumentText = std::pair<std::string, std::string>;  // pairs of name and value

// By the plan and facts of a device.
struct PredictedRun {
  double step_seconds = 0;
  std::string source{};  // of the facts
};

struct RunFiles {
  std::string dir;
  std::string metrics_path{};  // path; empty: not found
  MetricLines metrics{};
  std::string arguments_path{};
  std::vector<ArgumentText> arguments{};  // by name
  std::vector<SavedIteration> saves{};    // by iteration
  std::vector<LedgerRecord> ledger{};
  LedgerTotal time{};
  std::vector<IncidentFile> incidents{};  // by iteration
  RanksOfRun ranks{};
  std::vector<std::string> notes{};         // missing or unreadable files
  std::optional<PredictedRun> predicted{};  // set by the caller
};

// `metrics`: the metrics file; empty: the path in the arguments, or metrics.jsonl in the directory. Error if the
// directory or that file does not exist.
RunFiles read_run(const std::string& dir, const std::string& metrics = {});

}  // namespace megalith::report
