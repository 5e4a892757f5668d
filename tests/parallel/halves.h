// Training in fp16 under several layouts. The loss scale and the skipped steps must equal those of one rank.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Returns the number of layouts that differ from one rank, or from their own second run.
int fp16(const Hall& at);

}  // namespace megalith::parity
