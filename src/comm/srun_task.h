// Tasks of Slurm's srun.
#pragma once
#include "comm/place.h"

namespace megalith {

// Whether this process is one; a batch script, or a shell of salloc, is none.
bool is_task_of_srun(const Environment& env);

}  // namespace megalith
