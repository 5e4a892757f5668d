// How much memory this process has, as the kernel counts it, and may have. In bytes.
#pragma once
#include "base/dtype.h"

namespace megalith {

i64 resident_bytes();       // now
i64 peak_resident_bytes();  // the most so far, or since the last forget_peak_resident()
void forget_peak_resident();
// The memory that the process may use in total: its own and the free memory of the machine, or less in a limited
// control group.
i64 available_host_bytes();

}  // namespace megalith
