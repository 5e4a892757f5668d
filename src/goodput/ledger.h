// Records how a run spends its time, over all its starts, in its save directory (ledger_file.h).
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/named_value.h"
#include "goodput/ledger_file.h"

namespace megalith {

// The run is in exactly one state at any time, so the seconds sum to the wall time. It begins in `init`, at the start
// of the process. Only rank 0's time is recorded.
class Ledger {
 public:
  struct Clock {
    std::function<double()> steady, unix;  // seconds
    double age = 0;                        // wall time of the process at construction
  };
  static Clock real_clock();

  // `directory`: of the file; empty: no file. A failed write is a warning.
  explicit Ledger(const std::string& directory, std::string stack = {}, Clock clock = real_clock());

  // Enters a state and returns the previous one.
  TimeState enter(TimeState state);
  // Called when the steps begin: writes a record.
  void start(i64 iteration);
  // Called after a step. `waited`: seconds of `train` that were spent waiting for data. Writes a record if one is
  // due.
  void finish_step(i64 iteration, double data_wait);
  void write(i64 iteration);  // writes a record now, so that later time is separate
  void end(i64 iteration);    // in order

  LedgerTotal total();               // of all starts until now
  std::vector<NamedValue> values();  // the same, with a value for each state

 private:
  void settle();  // adds the time until now
  void append(const LedgerRecord& record);

  Clock clock_;
  std::string stack_;
  double began_, unix_began_;  // the process
  TimeState state_ = TimeState::init;
  double since_;                // steady
  double written_;              // time of the last record
  TimeSums pending_{}, own_{};  // of this start, since the last record
  LedgerTotal before_;          // of earlier starts, as classified by this one
  std::vector<LedgerRecord> earlier_;
  std::string path_;       // empty: no file
  std::string unwritten_;  // lines to write with the next record
  bool warned_ = false, is_made_ = false;
};

}  // namespace megalith
