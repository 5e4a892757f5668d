#include "train/timers.h"

#include <chrono>
#include <utility>

namespace megalith {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Stopwatch::start() {
  if (!std::exchange(running_, true)) since_ = now_();
}
void Stopwatch::stop() {
  if (std::exchange(running_, false)) sum_ += now_() - since_;
}
double Stopwatch::look() {
  if (running_) stop(), start();
  return sum_;
}
double Stopwatch::take() {
  look();
  return std::exchange(sum_, 0);
}

}  // namespace megalith
