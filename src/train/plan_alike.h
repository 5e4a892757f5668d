// The plan of a step on several ranks, whose memory may differ.
#pragma once
#include <functional>

#include "comm/ranks.h"
#include "step/step.h"

namespace megalith {

// plan_step() on all ranks. If a rank's memory does not suffice to cast weights once a step, no rank of its pipeline
// stage does: otherwise ranks would wait for each other's amax. Error on all ranks if one of them fails.
PlannedStep plan_alike(const std::function<StepSpec()>& spec, const Backend& backend, Ranks& ranks);

}  // namespace megalith
