// The traffic of a step between device and host memory, for the plan report: optimizer state, and activations.
#pragma once
#include <string>

#include "step/step.h"

namespace megalith {

// One line: the bytes in each direction, and the bytes of windows that the device holds at once. Empty if all state
// is on the device.
std::string offload_line(const Plan& plan);

// For activations: the bytes of each module, the memory saved, and the time by the pass's clock, compared with that
// of recomputation. Empty without the flag.
std::string activation_offload_lines(const OffloadConfig& config, const PlannedStep& step);

}  // namespace megalith
