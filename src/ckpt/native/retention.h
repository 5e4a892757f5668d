// Deletes from a directory of checkpoints: incomplete ones of a crash, and old ones that are not retained.
#pragma once
#include <string>

#include "ckpt/native/checkpoint.h"

namespace megalith {

// Removes unfinished directories and temporary files of ended processes, which may fill the disk.
void clear_unfinished(const std::string& dir, const StepHook& hook);

// Checkpoints that they have replaced, but for one whose place is empty, which gets it back.
void clear_replaced(const std::string& dir, const StepHook& hook);

// Deletes one directory. It is renamed first, so a partly deleted one is never taken for a checkpoint.
void remove_checkpoint(const std::string& path, const StepHook& hook = {});

// Deletes the checkpoints before `iteration` that `keep_last` and `keep_multiples` (see SaveOptions) do not keep.
void remove_old_checkpoints(const std::string& dir, i64 iteration, const SaveOptions& options);

}  // namespace megalith
