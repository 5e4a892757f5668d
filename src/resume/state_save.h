// The share of the state that one rank saves, and its memory.
#pragma once
#include "settings/options.h"
#include "state/state_blocks.h"

namespace megalith {

// The bytes of the largest share of any rank in this run.
StateShare largest_share(const TrainConfig& train);

// Number of threads that write a share of this size, each to its own file.
int writers_of(const TrainConfig& train, i64 bytes);
// Memory for a save of this run, besides the state or its copy. `read`: the state is on a device and is read in
// chunks.
i64 saving_bytes(const PlannedStep& step, const TrainConfig& train, bool read);

}  // namespace megalith
