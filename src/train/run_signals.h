// The signals by which a user, or a cluster's scheduler, tells a run that trains to save or to leave. While this object
// lives they only leave word here; the training loop looks at it between steps.
//
//   SIGTERM or another --exit-signal, SIGINT    leave
//   SIGUSR2, also as --exit-signal              leave, and be started again
//   SIGUSR1                                     save and go on
#pragma once
#include <signal.h>

#include <vector>

#include "base/dtype.h"

namespace megalith {

// For as long as the process may train, from its start to its end: SIGUSR1 and SIGUSR2, which would end it, leave word
// for the RunSignals to come, and after that mean nothing.
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
  // `leaves`: --exit-signal, whatever it means otherwise. A signal that the process was started to ignore stays
  // ignored, unless it is that one and the user has `named` it. A second SIGINT ends the process, as the first would
  // have without this object.
  RunSignals(int leaves, bool named);
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  i64 saves() const;    // how many times SIGUSR1 has come
  int leaving() const;  // the first signal to leave that has come, or 0
  // Those that stay ignored. SIGINT is none: a script's background jobs have it so.
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
