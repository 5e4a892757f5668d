// Compares runs that all-gather new weights during the next forward (--overlap-param-gather) with the same runs without
// the flag.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Returns the number of runs whose state or checkpoint differs in any bit.
int ahead(const Hall& at);

}  // namespace megalith::parity
