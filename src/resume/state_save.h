// What a save of a run takes of a rank's state, and of its memory.
#pragma once
#include "settings/options.h"
#include "state/state_blocks.h"

namespace megalith {

// The most that a save of this run takes.
StateShare largest_share(const TrainConfig& train);

// Threads of a rank that write a share of so many bytes, each a file.
int writers_of(const TrainConfig& train, i64 bytes);
// Memory besides the state, or its copy, for a save of this run. `read`: the state is on a device, and is read in
// chunks.
i64 saving_bytes(const PlannedStep& step, const TrainConfig& train, bool read);

}  // namespace megalith
