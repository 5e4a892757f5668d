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

// The exit code that asks for a restart: HTCondor uses it by custom, Slurm by RequeueExit. A run that a signal stops
// exits with 0 if its state is saved, else with 128 + the signal. After SIGINT it is always 128 + SIGINT.
inline constexpr int kRequeue = 85;

class StopRequests {
 public:
  StopRequests(const Options& options, Ranks& ranks);

  // All ranks call it between steps. Returns whether there is a request to act on after `iteration`, the last one
  // started.
  bool look(i64 iteration);

  bool to_save() const { return to_save_; }                      // at the last look()
  bool to_leave() const { return signal_ != 0 || time_is_up_; }  // true from then on
  int signal() const { return signal_; }                         // that stops the run, or 0
  std::string reason() const;                                    // why the run stops: "after 3.210 minutes"
  // The process's exit code if a signal stopped it.
  int exit_code(bool is_saved) const;

 private:
  // What one rank sends to the others, as text.
  struct Word;
  double minutes() const;  // since this object was made

  Ranks& ranks_;
  int exit_signal_;
  double most_minutes_;  // 0: no limit
  RunSignals signals_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), looked_{};
  i64 looked_at_ = -1, next_ = 0;  // iterations; -1: no exchange yet
  SaveRequests requests_;
  bool to_save_ = false, time_is_up_ = false;
  int signal_ = 0;
};

}  // namespace megalith
