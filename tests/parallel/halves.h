// Training in fp16 under layouts: its loss scale and skipped steps against those of one rank.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// How many layouts differ from one rank, or from themselves when run again.
int fp16(const Hall& at);

}  // namespace megalith::parity
