// When something was told. Sinks on a thread of their own take it later, and use this moment as their clock.
#pragma once
#include "base/clock.h"
#include "observe/sinks/tensorboard_file.h"

namespace megalith {

struct ToldAt {
  double steady = steady_seconds(), unix = unix_seconds();
};

}  // namespace megalith
