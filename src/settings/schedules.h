// Values that follow from the options and the start of a run: its length, its schedules, the samples it needs, its
// plan.
#pragma once
#include "data/config.h"
#include "settings/options.h"
#include "step/step.h"
#include "step/trainer.h"

namespace megalith {

// The last iteration of a run that begins in `start`; with --train-samples from the remaining samples.
i64 train_iters(const Options& o, const RunState& start = {});
Schedules make_schedules(const Options& o);
RunLength run_length(const Options& o, const RunState& start = {});
StepSpec step_spec(const Options& o, int stage = 0);  // of a rank of that pipeline stage

}  // namespace megalith
