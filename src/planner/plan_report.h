// What a run will use, told before it starts: --dry-run prints it, and a run that can't fit is refused by it.
#pragma once
#include <string>

#include "comm/place.h"
#include "planner/memory_need.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

// Error if the model's weights, gradients and optimizer state alone are more than there is: told by the flags alone, as
// planning a model of absurd size would take long.
void check_sizes(const Options& options, const Backend& backend);

// Bytes per category, parameters, flops, instructions.
std::string plan_report(const Options& options, const PlannedStep& step, const MemoryNeed& need);

// The stages of a pipeline, planned here without its ranks: a line each, with its layers, micro-batches in flight,
// bytes a rank; and the bubble. Empty without a pipeline.
struct StagesReport {
  std::string text;
  i64 most_bytes = 0;  // that a rank needs in all, in the stage that needs the most
};
StagesReport stages_report(const Options& options, const Backend& backend, bool resumes);

// Error if the plan needs more memory than there is, with the largest micro-batch and the nearest layouts that fit: the
// distributed optimizer, twice the tensor- or pipeline-parallel ranks, layers computed again.
// Ranks of one host that share its memory each get their part.
void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend, const Place& place = {});

// Error if a device's run needs more of the host's memory than the `available` bytes, which the process may have with
// what it has now.
void check_host_memory(const MemoryNeed& need, i64 available);

}  // namespace megalith
