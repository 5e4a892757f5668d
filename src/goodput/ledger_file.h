// SAVE/goodput.jsonl: how all starts of a run spent their time, one record per line. Lines are only appended.
//   {"event":"start","at":1764190000.25,"iteration":0,"stack":"megalith 0.1.0; ..."}   a process begins
//   {"event":"time","at":1764190031.5,"iteration":12,"seconds":{"init":1.1,"train":30.1}}
//   {"event":"end",...}   like "time"; the process ends normally\n"at": Unix time. "iteration": completed iterations;
//   in a start: where it resumes. "seconds": since the previous record.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"
#include "goodput/states.h"

namespace megalith {

inline constexpr const char* kLedgerFile = "goodput.jsonl";

struct LedgerRecord {
  enum class Event { start, time, end };
  Event event = Event::time;
  double at = 0;
  i64 iteration = 0;
  TimeSums seconds{};
  std::string stack{};  // of a start
};

std::string ledger_line(const LedgerRecord& record);  // with its newline
// Ignores other lines, such as one that a kill has truncated. Empty if there is no file.
std::vector<LedgerRecord> read_ledger(const std::string& path);

struct LedgerTotal {
  TimeSums seconds{};
  int starts = 0;
  double wall() const;     // the sum
  double goodput() const;  // seconds in train / wall time; 0 if there is none
};

// Sums of all records. A step is lost if a later start begins before it.
LedgerTotal sum_ledger(const std::vector<LedgerRecord>& records);

// "goodput 93.1% of 120.3 s in 3 starts: train 112.0 s, data_wait 0.3 s, ..."
std::string goodput_line(const LedgerTotal& total);

}  // namespace megalith
