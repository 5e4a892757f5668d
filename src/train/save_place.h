// Where a run will save: looked at, and taken, before training rather than after it.
#pragma once
#include <memory>
#include <vector>

#include "ckpt/save_lock.h"
#include "train/options.h"

namespace megalith {

// The directories that one rank holds for its run.
using SaveLocks = std::vector<std::unique_ptr<SaveLock>>;

// Makes the directories of --save and of non-persistent copies, if there will be some, and locks them for this run:
// what ranks save together on the first of them, a rank's own on each. Error if one cannot be made or written, or if
// another job saves there.
SaveLocks take_save_places(const TrainConfig& train, int rank);

}  // namespace megalith
