// The CPU as a backend of the training loop.
#pragma once
#include "plan/interpreter.h"

namespace megalith {

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace megalith
