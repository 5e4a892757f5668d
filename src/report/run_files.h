// What a run has left in its save directory, read as far as it is there.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "goodput/ledger_file.h"
#include "report/metric_lines.h"

namespace megalith::report {

struct SavedIteration {
  i64 iteration = 0;
  i64 bytes = 0;
  double at = 0;  // Unix time of its newest file
};

// Of SAVE/incidents. What a file does not tell is empty.
struct IncidentFile {
  std::string file;
  i64 iteration = 0;
  std::string reason{}, rank{}, layer{}, tensor{}, documents{};
};

using ArgumentText = std::pair<std::string, std::string>;  // name and value

struct RunFiles {
  std::string dir;
  std::string metrics_path{};  // empty: none was found
  MetricLines metrics{};
  std::string arguments_path{};
  std::vector<ArgumentText> arguments{};  // by name
  std::vector<SavedIteration> saves{};    // by iteration
  std::vector<LedgerRecord> ledger{};
  LedgerTotal time{};
  std::vector<IncidentFile> incidents{};  // by iteration
  std::vector<std::string> notes{};       // what is not there, or could not be read
};

// `metrics`: the metrics file; empty: the one that the arguments name, or metrics.jsonl in the directory. Error if
// there is no such directory, or no such file.
RunFiles read_run(const std::string& dir, const std::string& metrics = {});

}  // namespace megalith::report
