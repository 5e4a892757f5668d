// Keeps account of the time of a run over all its starts, in its save directory (ledger_file.h).
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/named_value.h"
#include "goodput/ledger_file.h"

namespace megalith {

// One state follows another without a gap, so what is told adds up to the wall time. It begins with the process, in
// `init`. Of several ranks the first one's time is told.
class Ledger {
 public:
  struct Clock {
    std::function<double()> steady, unix;  // seconds
    double age = 0;                        // of the process at the construction
  };
  static Clock real_clock();

  // `directory`: it is written there; empty: nothing is written. What cannot be written is a warning.
  explicit Ledger(const std::string& directory, std::string stack = {}, Clock clock = real_clock());

  // From now on the run is in this state. Gives the one before.
  TimeState enter(TimeState state);
  // Where the steps begin: a record is due.
  void start(i64 iteration);
  // After a step: so many of the seconds in `train` were spent waiting for data. Writes a record now and then.
  void finish_step(i64 iteration, double data_wait);
  void write(i64 iteration);  // a record now: what follows is told apart from what was
  void end(i64 iteration);    // in order

  LedgerTotal total();               // of all starts, up to now
  std::vector<NamedValue> values();  // the same, a value for each state

 private:
  void settle();  // adds up to now
  void append(const LedgerRecord& record);

  Clock clock_;
  std::string stack_;
  double began_, unix_began_;  // the process
  TimeState state_ = TimeState::init;
  double since_;                // steady
  double written_;              // when the last record was
  TimeSums pending_{}, own_{};  // since the last record; of this start
  LedgerTotal before_;          // of earlier starts, as this one leaves them
  std::vector<LedgerRecord> earlier_;
  std::string path_;       // empty: nothing is written
  std::string unwritten_;  // lines that the next record takes along
  bool warned_ = false, is_made_ = false;
};

}  // namespace megalith
