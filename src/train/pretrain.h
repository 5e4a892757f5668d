// A training run from its options to its last checkpoint.
#pragma once
#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/options.h"
#include "train/start_ahead.h"

namespace megalith {

// What a run's end means for the process's exit code: 0 also for --exit-interval and --exit-duration-in-mins. All ranks
// call it, with options that are the same but for what the launcher says of the place.
int pretrain(Options options, const Backend& backend, Ranks& ranks, StartAhead ahead = {});

}  // namespace megalith
