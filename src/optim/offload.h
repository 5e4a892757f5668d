// Selects the state that is in the host's memory (--optimizer-cpu-offload).
#pragma once
#include <vector>

#include "models/parameter.h"
#include "optim/buckets.h"
#include "optim/config.h"

namespace megalith {

// By parameter, or bucket: from the first on, until it is the given fraction of all elements. Parameters without
// weight decay stay: they are vectors, whose transfers would cost more than their bytes.
std::vector<bool> on_host(const std::vector<Parameter>& parameters, const OptimizerConfig& config);
void place_on_host(std::vector<Bucket>& buckets, const OptimizerConfig& config);

}  // namespace megalith
