// The unit of a run's lengths, iterations or samples, is that of --train-iters or --train-samples.
#pragma once
#include "settings/options.h"

namespace megalith {

// Converts the schedule's lengths of a recipe or file if a flag gives the run's length in the other unit. The options'
// notes say so.
void settle_units(Options& options);

}  // namespace megalith
