// Tests of mixtures of experts, multi-head latent attention and multi-token prediction.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Returns the number of layouts that differ from their references.
int experts(const Hall& at);

}  // namespace megalith::parity
