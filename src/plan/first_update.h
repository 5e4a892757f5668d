// Where a program begins to change what a checkpoint holds.
#pragma once
#include "plan/plan.h"

namespace megalith {

// The first instruction of the update that writes parameters or the optimizer's state; the program's end if there is
// none. What gathers parameters elsewhere writes what its own ranks hold already.
size_t first_update(const Plan& plan, const Program& program);

}  // namespace megalith
