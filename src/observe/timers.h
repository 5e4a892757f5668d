// A stopwatch for the time between log lines. It is stopped during evaluation and saves, which are not training.
#pragma once
#include <functional>

#include "base/clock.h"

namespace megalith {

class Stopwatch {
 public:
  explicit Stopwatch(std::function<double()> now = steady_seconds) : now_(std::move(now)) {}
  void start();  // no effect if it is running
  void stop();   // no effect if it is stopped
  // Seconds between the last take() and `now`, which may be in the past; later time counts for the next call. take()
  // restarts at 0.
  double take(double moment);

 private:
  std::function<double()> now_;
  bool running_ = false;
  double since_ = 0;
  double sum_ = 0;
};

}  // namespace megalith
