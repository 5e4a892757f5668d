// Which state lies in the host's memory (--optimizer-cpu-offload).
#pragma once
#include <vector>

#include "models/parameter.h"
#include "optim/buckets.h"
#include "optim/config.h"

namespace megalith {

// By parameter, or bucket: from the first on, until the given fraction of all elements is there. What has no weight
// decay stays: vectors, of which the transfers would cost more than their bytes.
std::vector<bool> on_host(const std::vector<Parameter>& parameters, const OptimizerConfig& config);
void place_on_host(std::vector<Bucket>& buckets, const OptimizerConfig& config);

}  // namespace megalith
