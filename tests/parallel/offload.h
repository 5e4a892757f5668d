// Compares runs with optimizer state in host memory (--optimizer-cpu-offload) with the same runs without the flag.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Returns the number of runs whose state or checkpoint differs in any bit.
int offload(const Hall& at);

}  // namespace megalith::parity
