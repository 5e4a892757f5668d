// `megalith plan --hardware A,B`: the same run on several kinds of GPUs, beside each other.
#pragma once
#include "cli/plan_flags.h"

namespace megalith {

// Returns the exit code.
int plan_kinds(const PlanFlags& flags);

}  // namespace megalith
