// The CPU as a backend of the training loop.
#pragma once
#include "comm/ranks.h"
#include "plan/interpreter.h"

namespace megalith {

// `ranks`: transfers data if a plan has several ranks.
std::unique_ptr<Backend> make_cpu_backend(Ranks* ranks = nullptr);

}  // namespace megalith
