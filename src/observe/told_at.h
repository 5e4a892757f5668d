// The time at which a record was queued. Sinks on their own thread get it later, and use this time as their clock.
#pragma once
#include "base/clock.h"

namespace megalith {

struct ToldAt {
  double steady = steady_seconds(), unix = unix_seconds();
};

}  // namespace megalith
