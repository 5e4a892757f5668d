// A clock that stands while its process does not run: while a user or a virtual machine stops it, nobody hears ranks.
#pragma once
#include "base/clock.h"

namespace megalith::launch {

class AwakeClock {
 public:
  // Seconds since the first call. Called many times a second, unless the process is stopped. `steady`:
  // steady_seconds().
  double at(double steady) {
    constexpr double kAsleep = 1;
    if (!has_begun_) has_begun_ = true, seen_ = steady;
    const double gap = steady - seen_;
    seen_ = steady;
    if (gap < kAsleep) awake_ += gap;
    return awake_;
  }

 private:
  bool has_begun_ = false;
  double seen_ = 0, awake_ = 0;
};

}  // namespace megalith::launch
