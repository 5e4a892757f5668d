// Says what a run will take before it starts: the plan of its fullest rank, the head of the log, the seconds foretold.
#pragma once
#include "comm/ranks.h"
#include "planner/memory_need.h"
#include "resume/checkpointing.h"

namespace megalith {

// `need`: this rank's. In a dry run all stages of a pipeline are planned here. All ranks call it.
void say_plan(const Options& options, const PlannedStep& step, const MemoryNeed& need, const RunStart& start,
              const Backend& backend, Ranks& ranks);

}  // namespace megalith
