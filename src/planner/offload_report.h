// What a step moves of the optimizer's state in the host's memory, for the plan report.
#pragma once
#include <string>

#include "plan/plan.h"

namespace megalith {

// One line: what goes each way, and how much of it the device keeps at once, in windows that are on their way. Empty if
// all state is on the device.
std::string offload_line(const Plan& plan);

}  // namespace megalith
