// Requests to save or to stop while a run trains. Signals ask for either, the clock (--exit-duration-in-mins) asks to
// stop. A request to one rank reaches all ranks, and all act after the same iteration.
//
// Ranks exchange requests on the control plane between steps, at most every 50 ms. Meanwhile a GPU has its next step in
// the queue.
#pragma once
#include <chrono>

#include "comm/ranks.h"
#include "settings/options.h"
#include "train/run_signals.h"
#include "train/save_requests.h"

namespace megalith {

// The exit code that asks for the run to be started again: by custom in HTCondor, by RequeueExit in Slurm. A run that a
// signal ends has code 0 if its state is saved, else 128 + the signal. SIGINT always gives the latter.
inline constexpr int kRequeue = 85;

class StopRequests {
 public:
  StopRequests(const Options& options, Ranks& ranks);

  // To be called by all ranks between steps. Whether there is something to do after `iteration`, the last one started.
  bool look(i64 iteration);

  bool to_save() const { return to_save_; }                      // as look() found last
  bool to_leave() const { return signal_ != 0 || time_is_up_; }  // from then on
  int signal() const { return signal_; }                         // to leave by, or 0
  std::string reason() const;                                    // to leave: "after 3.210 minutes"
  // The process's, when it leaves by a signal, its state saved or not.
  int exit_code(bool is_saved) const;

 private:
  // What one rank tells the others, as text.
  struct Word;
  double minutes() const;  // since this object was made

  Ranks& ranks_;
  int exit_signal_;
  double most_minutes_;  // 0: any number
  RunSignals signals_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), looked_{};
  i64 looked_at_ = -1, next_ = 0;  // iterations; -1: it has not looked yet
  SaveRequests requests_;
  bool to_save_ = false, time_is_up_ = false;
  int signal_ = 0;
};

}  // namespace megalith
