// A stopwatch for the time between log lines: stopped while the run evaluates and saves, so that these do not count as
// training.
#pragma once
#include <functional>

namespace megalith {

double steady_seconds();  // a clock that never jumps; its zero means nothing

class Stopwatch {
 public:
  explicit Stopwatch(std::function<double()> now = steady_seconds) : now_(std::move(now)) {}
  void start();   // no effect if it runs
  void stop();    // no effect if it does not
  double look();  // seconds it ran since the last take(); it goes on running, or not, as before
  double take();  // the same, and it begins at 0 again

 private:
  std::function<double()> now_;
  bool running_ = false;
  double since_ = 0;
  double sum_ = 0;
};

}  // namespace megalith
