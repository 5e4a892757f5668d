// The start times and ends of processes, from Linux.
#pragma once
#include <optional>
#include <string>

#include "base/dtype.h"

namespace megalith {

// In the kernel's ticks since the boot. 0: there is no such process, or it has ended. None: there is one, but /proc
// does not show it to this user (hidepid). A failed process has ended once its memory is released: it changes no more
// files, but the system may still close its devices for seconds.
std::optional<i64> process_start(i64 pid);
// The wait status of a failed process whose first thread has exited or released its memory. Empty if the process runs,
// if it succeeded, or if its status is unknown.
std::optional<int> end_in(const std::string& stat);  // `stat`: the text of /proc/PID/stat
i64 start_in(const std::string& stat);               // the process_start of this text; 0 if it is empty
// Seconds since a process was started that was at these ticks.
double process_age(i64 ticks);

}  // namespace megalith
