// Attention over more positions than the timed models have: its rate still grows there.
#pragma once
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

// Forward and backward, at two lengths; on a CPU there are none that end in time.
std::vector<KernelFact> time_long_attention(const Backend& backend);

}  // namespace megalith
