// The category of a run's time, for a device that times its work with its own clock.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Tags are numbers from 0 on; -1: the time counts to nothing.
struct TimeTags {
  std::vector<std::vector<int>> of;  // by program and instruction
  std::vector<int> before;           // by program: of what passed since the run before
  std::vector<bool> ends_step;       // by program
  int count = 0;
};

// Since the device got the tags, for all steps that have ended.
struct TagSeconds {
  i64 steps = 0;
  std::vector<double> seconds;  // by tag
};

}  // namespace megalith
