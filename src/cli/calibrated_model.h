// The steps that `megalith calibrate MODEL-FLAGS` times: two layers of the user's model, and one tensor-parallel rank's
// part of them.
#pragma once
#include <vector>

#include "calibrate/timed_step.h"
#include "settings/options.h"

namespace megalith {

// ranks: tensor-parallel ranks of the second step, if they divide the heads and the MLP. 1: only the first step.
std::vector<TimedCase> steps_of_model(const Options& flags, i64 ranks);

}  // namespace megalith
