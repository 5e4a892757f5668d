// What a run will use, told before it starts.
#pragma once
#include <string>

#include "planner/memory_need.h"
#include "planner/stage_plans.h"

namespace megalith {

// Bytes per category, parameters, flops, instructions: of the whole model's parameters and flops, of the rest what
// `step` has. In a pipeline that is the fullest stage's.
std::string plan_report(const Options& options, const PlannedStep& step, const MemoryNeed& need);

// A line for each stage of a pipeline, with its layers, micro-batches in flight, bytes a rank; and the bubble. Empty
// without a pipeline.
std::string stages_report(StagePlans& plans);

}  // namespace megalith
