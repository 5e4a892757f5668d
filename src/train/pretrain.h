// A training run from its options to its last checkpoint.
#pragma once
#include "plan/interpreter.h"
#include "train/options.h"

namespace megalith {

// What a run's end means for the process's exit code: 0 also for --exit-interval and --exit-duration-in-mins.
int pretrain_gpt(Options options, const Backend& backend);

}  // namespace megalith
