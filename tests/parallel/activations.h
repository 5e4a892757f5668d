// Compares runs with activations in host memory (--fine-grained-activation-offloading) with the same runs without the
// flag.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Returns the number of runs whose state or checkpoint differs in any bit.
int activations(const Hall& at);

}  // namespace megalith::parity
