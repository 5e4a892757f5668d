// The rates of the CPU here, by a short measurement with the backend's own kernels.
#pragma once
#include "exec/sim/simulator.h"
#include "plan/interpreter.h"

namespace megalith {

sim::Hardware cpu_rates(const Backend& backend);

}  // namespace megalith
