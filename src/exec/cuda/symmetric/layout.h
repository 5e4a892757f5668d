// What ranks must have in common to share their arenas.
#pragma once
#include <string>

#include "plan/plan.h"

namespace megalith::cuda {

// A number of 16 digits: the offsets of all buffers of the plan's relayouts.
std::string layout_of_transfers(const Plan& plan);

}  // namespace megalith::cuda
