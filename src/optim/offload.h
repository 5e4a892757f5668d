// Which state lies in the host's memory (--optimizer-cpu-offload).
#pragma once
#include <vector>

#include "models/parameter.h"
#include "optim/config.h"
#include "optim/pools.h"

namespace megalith {

// By parameter, or pool: from the first on, until the given fraction of all elements is there. What has no weight decay
// stays: vectors, of which the transfers would cost more than their bytes.
std::vector<bool> on_host(const std::vector<Parameter>& parameters, const OptimizerConfig& config);
void place_on_host(std::vector<Pool>& pools, const OptimizerConfig& config);

}  // namespace megalith
