// The point from which a program changes the content of a checkpoint.
#pragma once
#include "plan/plan.h"

namespace megalith {

// The first instruction of the update that writes parameters or optimizer state; the program's end if there is none.
// An all-gather of parameters does not count, because it writes what its ranks already hold.
size_t first_update(const Plan& plan, const Program& program);

}  // namespace megalith
