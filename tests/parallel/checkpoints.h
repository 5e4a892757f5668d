// Tests of checkpoints that are saved under one layout and loaded under another.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Runs four steps under each layout, with a checkpoint after the third. Each other layout loads that checkpoint, saves
// it again without a step, and runs the fourth step. Returns the number of pairs and ways of saving that are wrong.
int checkpoints(const Hall& at);
// The same for a mixture of experts, whose experts are split over other ranks than the dense weights.
int expert_checkpoints(const Hall& at);

}  // namespace megalith::parity
