// Mixtures of experts, latent attention and further tokens.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// How many layouts differ from their references.
int experts(const Hall& at);

}  // namespace megalith::parity
