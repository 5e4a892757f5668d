// What a step moves to the host's memory and back, for the plan report: the optimizer's state, and activations.
#pragma once
#include <string>

#include "step/step.h"

namespace megalith {

// One line: what goes each way, and how much of it the device keeps at once, in windows that are on their way. Empty if
// all state is on the device.
std::string offload_line(const Plan& plan);

// Of activations: what goes each way of each module, what that saves, and its price by the clock of the pass, beside
// that of recomputation. Empty unless asked for.
std::string activation_offload_lines(const OffloadConfig& config, const PlannedStep& step);

}  // namespace megalith
