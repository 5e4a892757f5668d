// A stopwatch for the time between log lines: stopped while the run evaluates and saves, so that these do not count as
// training.
#pragma once
#include <functional>

#include "base/clock.h"

namespace megalith {

class Stopwatch {
 public:
  explicit Stopwatch(std::function<double()> now = steady_seconds) : now_(std::move(now)) {}
  void start();  // no effect if it runs
  void stop();   // no effect if it does not
  // Seconds it ran between the last take() and a moment that may have passed; what comes after it counts for the next
  // time. take() begins at 0 again.
  double take(double moment);

 private:
  std::function<double()> now_;
  bool running_ = false;
  double since_ = 0;
  double sum_ = 0;
};

}  // namespace megalith
