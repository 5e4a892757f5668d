// Predicts the time of a step from its plan and the device's facts. --dry-run prints it after the bytes.
#pragma once
#include <memory>
#include <string>

#include "exec/sim/clock.h"
#include "exec/sim/pipeline.h"
#include "planner/stage_plans.h"

namespace megalith {

struct StepClock {
  std::unique_ptr<sim::Clock> clock;
  std::string source;  // source of the rates
};
// The facts of a paper device, or the program's facts of this GPU's name. For a CPU, rates from a short measurement. No
// clock if there are no such facts.
StepClock clock_of(const Backend& backend);

struct StepTime {
  double seconds = 0;
  double bubble = 0;   // idle time of pipeline stages, divided by their work
  double exposed = 0;  // of one rank, or the slowest stage: seconds of transfers that do not overlap with other work
  std::map<std::string, double> by_op;  // of one rank, or the slowest stage: seconds
};
// In a pipeline, stages of the same blocks share a plan.
StepTime step_time(StagePlans& plans, const sim::Clock& clock);

// The schedule of a pipeline's tasks. No stages without a pipeline.
sim::PipelineRun pipeline_run(StagePlans& plans, const sim::Clock& clock);
// The same as text (sim::draw). Empty without a pipeline.
std::string pipeline_drawing(StagePlans& plans, const sim::Clock& clock);

// Two or three lines: seconds a step, tokens/s, the source of the facts, the bounded workspaces. Empty without facts.
std::string time_report(StagePlans& plans);

}  // namespace megalith
