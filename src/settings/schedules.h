// What follows from the options, and from where a run begins: how long a run is, its schedules, what it asks of the
// data, what it plans.
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
