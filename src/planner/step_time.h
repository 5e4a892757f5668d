// How long a step will take, foretold from its plan and the device's facts: what --dry-run says beside the bytes.
#pragma once
#include <memory>
#include <string>

#include "exec/sim/clock.h"
#include "exec/sim/pipeline.h"
#include "planner/stage_plans.h"

namespace megalith {

struct StepClock {
  std::unique_ptr<sim::Clock> clock;
  std::string source;  // whose rates these are
};
// By a paper device's own facts; of a GPU, by those of its name that the program brings along; of a CPU, by rates that
// are measured for a moment. No clock where none of these is there.
StepClock clock_of(const Backend& backend);

struct StepTime {
  double seconds = 0;
  double bubble = 0;                    // idle time of a pipeline's stages over their work
  double exposed = 0;                   // of one rank, seconds of transfers that no other work hides; likewise
  std::map<std::string, double> by_op;  // of one rank, seconds; of a pipeline's slowest stage
};
// Of a pipeline one plan is enough for all stages of the same blocks.
StepTime step_time(StagePlans& plans, const sim::Clock& clock);

// The tasks of a pipeline's stages in time; no stages without a pipeline.
sim::PipelineRun pipeline_run(StagePlans& plans, const sim::Clock& clock);
// The same as text (sim::draw); empty without a pipeline.
std::string pipeline_drawing(StagePlans& plans, const sim::Clock& clock);

// Two or three lines: seconds a step, tokens/s, whose facts; which workspaces were bounded. Empty without facts.
std::string time_report(StagePlans& plans);

}  // namespace megalith
