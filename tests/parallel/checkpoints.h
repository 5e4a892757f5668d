// Checkpoints saved under one layout and loaded under another.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Four steps with a checkpoint after the third; from that, under each other layout, a new checkpoint without a step
// between, and the fourth step.
// How many pairs and ways of saving are wrong.
int checkpoints(const Hall& at);
// The same of a mixture of experts, which ranks share otherwise than the rest of the model.
int expert_checkpoints(const Hall& at);

}  // namespace megalith::parity
