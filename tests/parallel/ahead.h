// New weights gathered beside the next forward (--overlap-param-gather), held against the same run without.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// How many layouts' runs differ in a bit, of the state or of a checkpoint.
int ahead(const Hall& at);

}  // namespace megalith::parity
