// The start times of processes, from Linux.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {

// In the kernel's ticks since the boot; 0: there is no such process, or it has ended. None: there is one, but /proc
// does not show it to this user (hidepid).
std::optional<i64> process_start(i64 pid);
// Seconds since a process was started that was at these ticks.
double process_age(i64 ticks);

}  // namespace megalith
