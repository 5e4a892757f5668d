// Prints what a run will need before it starts: the plan of the fullest rank, the log's header, the predicted step
// time.
#pragma once
#include "comm/ranks.h"
#include "planner/memory_need.h"
#include "resume/checkpointing.h"

namespace megalith {

// `need`: of this rank. In a dry run this process plans all pipeline stages. All ranks call it.
void say_plan(const Options& options, const PlannedStep& step, const MemoryNeed& need, const RunStart& start,
              const Backend& backend, Ranks& ranks);

}  // namespace megalith
