// The category of a run's time, for a device that times its work with its own clock.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Tags count from 0. With -1 the time counts for no tag.
struct TimeTags {
  std::vector<std::vector<int>> of;  // tag by program and instruction
  std::vector<int> before;           // tag by program: for the time since the run before it
  std::vector<bool> ends_step;       // by program
  int count = 0;
};

// Sums since the device got the tags, over all steps that have ended.
struct TagSeconds {
  i64 steps = 0;
  std::vector<double> seconds;  // by tag
};

}  // namespace megalith
