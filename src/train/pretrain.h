// A training run from its options to its last checkpoint.
#pragma once
#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/options.h"
#include "train/start_ahead.h"

namespace megalith {

// Returns the process's exit code: 0 also after --exit-interval and --exit-duration-in-mins. All ranks call it, with
// options that differ only in the launcher's values.
int pretrain(Options options, const Backend& backend, Ranks& ranks, StartAhead ahead = {});

}  // namespace megalith
