// Measures attention with more positions than the timed models have, because its rate still grows there.
#pragma once
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

// Forward and backward, for two lengths. Not on a CPU, where they take too long.
std::vector<KernelFact> time_long_attention(const Backend& backend);

}  // namespace megalith
