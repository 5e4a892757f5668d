// Threads for what waits for disks rather than computes; loops over cores are in base/threads.h.
#pragma once
#include <functional>

namespace megalith {

// Runs f(0) ... f(n - 1), each on its own thread if n > 1. Throws the first error after all have ended.
void in_parallel(int n, const std::function<void(int)>& f);

}  // namespace megalith
