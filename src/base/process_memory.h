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
// Sets malloc for threads that run steps, before they start. One arena serves 8 threads: by default each thread has its
// own. In it, oneDNN's aligned buffers of 0.4 MiB leave gaps of up to 3 MiB. For glibc 2.36 cannot reuse such a buffer
// for one of equal size. In a single arena the threads of a large machine would wait for one another. The end of the
// heap stays if it is below 8 MiB. Otherwise each product would return its buffer, and fault its pages in again.
void settle_malloc(i64 threads);

}  // namespace megalith
