// Refuses a run that can't fit, with what would.
#pragma once
#include "comm/place.h"
#include "planner/memory_need.h"
#include "settings/options.h"

namespace megalith {

// Error if the model's weights, gradients and optimizer state alone are more than there is: told by the flags alone, as
// planning a model of absurd size would take long.
void check_sizes(const Options& options, const Backend& backend);

// Error if the plan needs more memory than there is, with the largest micro-batch and the nearest layouts that fit: the
// distributed optimizer, twice the tensor- or pipeline-parallel ranks, layers computed again.
// Ranks of one host that share its memory each get their part.
void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend, const Place& place = {});

// Error if a device's run needs more of the host's memory than the `available` bytes, which the process may have with
// what it has now.
void check_host_memory(const MemoryNeed& need, i64 available);

}  // namespace megalith
