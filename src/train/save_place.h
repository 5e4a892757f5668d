// Where a run will save: looked at, and taken, before training rather than after it.
#pragma once
#include <memory>
#include <string>

#include "ckpt/save_lock.h"

namespace megalith {

// Makes the directory of --save ("": none) and, on the first rank of a run, locks it for that run. Error if it cannot
// be made or written, or if another job saves there.
std::unique_ptr<SaveLock> take_save_place(const std::string& dir, bool is_first_rank);

}  // namespace megalith
