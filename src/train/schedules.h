// What follows from the options alone: how long a run is, its schedules, what it asks of the data, what it plans.
#pragma once
#include "data/config.h"
#include "train/options.h"
#include "train/step.h"
#include "train/trainer.h"

namespace megalith {

i64 train_iters(const Options& o);  // also with --train-samples
Schedules make_schedules(const Options& o);
RunLength run_length(const Options& o);
StepSpec step_spec(const Options& o, int stage = 0);  // of a rank of that pipeline stage

}  // namespace megalith
