// A training run from its options to its last checkpoint.
#pragma once
#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "resume/compared_snapshots.h"
#include "settings/options.h"

namespace megalith {

// What a run's end means for the process's exit code: 0 also for --exit-interval and --exit-duration-in-mins. All ranks
// call it, with options that are the same but for what the launcher says of the place. `ahead`: snapshots that have
// been read beside what came before.
int pretrain(Options options, const Backend& backend, Ranks& ranks, ComparedSnapshots* ahead = nullptr);

}  // namespace megalith
