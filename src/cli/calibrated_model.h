// The steps that `megalith calibrate MODEL-FLAGS` times: two layers of the user's model, and what its tensor-parallel
// ranks compute of them.
#pragma once
#include <vector>

#include "calibrate/timed_step.h"
#include "settings/options.h"

namespace megalith {

// ranks: the tensor-parallel ranks of the second step, where heads and the MLP divide. 1: only the whole model.
std::vector<TimedCase> steps_of_model(const Options& flags, i64 ranks);

}  // namespace megalith
