// When processes were started, as Linux tells it.
#pragma once
#include "base/dtype.h"

namespace megalith {

// In the kernel's ticks since the boot; 0: there is no such process, or it has ended.
i64 process_start(i64 pid);
// Seconds since a process was started that was at these ticks.
double process_age(i64 ticks);

}  // namespace megalith
