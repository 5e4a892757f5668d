// A save's part of a rank's state, and its memory.
#pragma once
#include "settings/options.h"
#include "state/state_blocks.h"

namespace megalith {

// The largest share that a save of this run has.
StateShare largest_share(const TrainConfig& train);

// Threads of a rank that write a share of this many bytes, each its own file.
int writers_of(const TrainConfig& train, i64 bytes);
// Memory besides the state, or its copy, for a save of this run. `read`: the state is on a device, and is read in
// chunks.
i64 saving_bytes(const PlannedStep& step, const TrainConfig& train, bool read);

}  // namespace megalith
