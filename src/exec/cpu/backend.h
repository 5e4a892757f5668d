// The CPU as a backend of the training loop.
#pragma once
#include "comm/ranks.h"
#include "plan/interpreter.h"

namespace megalith {

// `ranks`: transfers data if a plan has several ranks. `kernels`: the name of this set of kernels, in a build that has
// several (Backend::kernels()).
std::unique_ptr<Backend> make_cpu_backend(Ranks* ranks = nullptr, const char* kernels = "");

}  // namespace megalith
