// Values that follow from the options and the start of a run: its length, its schedules, the samples it needs, its
// plan.
#pragma once
#include "data/config.h"
#include "settings/options.h"
#include "step/step.h"
#include "step/trainer.h"

namespace megalith {

// The iteration that a run ends at which begins in `start`; also with --train-samples, of which it does those left.
i64 train_iters(const Options& o, const RunState& start = {});
Schedules make_schedules(const Options& o);
RunLength run_length(const Options& o, const RunState& start = {});
StepSpec step_spec(const Options& o, int stage = 0);  // of a rank of that pipeline stage

}  // namespace megalith
