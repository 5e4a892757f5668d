// Threads for what waits for disks rather than computes; loops over cores are in base/threads.h.
#pragma once
#include <functional>

namespace megalith {

// f(0) ... f(n - 1), each on a thread of its own, with n > 1. The first error is thrown when all have ended.
void in_parallel(int n, const std::function<void(int)>& f);

}  // namespace megalith
