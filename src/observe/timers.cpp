#include "observe/timers.h"

#include <utility>

namespace megalith {

void Stopwatch::start() {
  if (!std::exchange(running_, true)) since_ = now_();
}
void Stopwatch::stop() {
  if (std::exchange(running_, false)) sum_ += now_() - since_;
}
double Stopwatch::take(double moment) {
  if (running_ && moment > since_) sum_ += moment - since_, since_ = moment;
  return std::exchange(sum_, 0);
}

}  // namespace megalith
