// Prints a run's memory, traffic and time before it starts.
#pragma once
#include <string>

#include "planner/memory_need.h"
#include "planner/stage_plans.h"

namespace megalith {

// Bytes by category, parameters, flops, instructions. Parameters and flops are those of the whole model. The rest is
// that of `step`, in a pipeline the fullest stage.
std::string plan_report(const Options& options, const PlannedStep& step, const MemoryNeed& need);

// One line for each pipeline stage: layers, micro-batches in flight, bytes of a rank. Then the bubble. Empty without
// a pipeline.
std::string stages_report(StagePlans& plans);

}  // namespace megalith
