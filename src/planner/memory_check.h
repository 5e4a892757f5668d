// Refuses a run that does not fit, and names changes that fit.
#pragma once
#include "comm/place.h"
#include "planner/memory_need.h"
#include "settings/options.h"

namespace megalith {

// Error if the model's weights, gradients and optimizer state do not fit. It uses only the flags, because a plan of a
// huge model takes long.
void check_sizes(const Options& options, const Backend& backend);

// Error if the plan does not fit. The error names the largest micro-batch that fits, and the nearest layouts: the
// distributed optimizer, twice the tensor- or pipeline-parallel ranks, recomputed layers. Ranks of a host that share
// its memory get equal parts.
void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend, const Place& place = {});

// Error if a device's run needs more of the host's memory than `available` bytes, the process's limit.
void check_host_memory(const MemoryNeed& need, i64 available);

}  // namespace megalith
