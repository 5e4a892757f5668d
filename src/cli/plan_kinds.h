// `megalith plan --hardware A,B`: compares the same run on several kinds of GPUs.
#pragma once
#include "cli/plan_flags.h"

namespace megalith {

// Returns the exit code.
int plan_kinds(const PlanFlags& flags);

}  // namespace megalith
