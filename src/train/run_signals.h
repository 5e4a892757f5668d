// The signals that ask a training run to save or to stop, from a user or a cluster's scheduler. While this object
// lives, a signal only sets state, which the training loop reads between steps.
//
//   SIGTERM or another --exit-signal, SIGINT    stop
//   SIGUSR2, also as --exit-signal              stop, and request a requeue
//   SIGUSR1                                     save and continue
#pragma once
#include <signal.h>

#include <vector>

#include "base/dtype.h"

namespace megalith {

// Lives as long as the process may train. SIGUSR1 and SIGUSR2 would end the process: before RunSignals exists they
// are kept for it, and after it they are ignored.
class EarlySignals {
 public:
  EarlySignals();
  ~EarlySignals();
  EarlySignals(const EarlySignals&) = delete;
  EarlySignals& operator=(const EarlySignals&) = delete;

 private:
  struct sigaction saves_before_ {
  }, leaves_before_{};
};

class RunSignals {
 public:
  // `leaves`: --exit-signal; it overrides the signal's other meaning. A signal that was ignored at the process's start
  // stays ignored. The exception is `leaves`, if the user has `named` it. A second SIGINT ends the process, as the
  // first would without this object.
  RunSignals(int leaves, bool named);
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  i64 saves() const;    // number of SIGUSR1 so far
  int leaving() const;  // the first signal that asked to stop, or 0
  // The signals that stay ignored, without SIGINT: shells start background jobs with SIGINT ignored.
  const std::vector<int>& ignored() const { return ignored_; }

 private:
  struct Taken {
    int signal;
    struct sigaction before;
  };
  std::vector<Taken> taken_;
  std::vector<int> ignored_;
};

}  // namespace megalith
