// The tensors of several ranks' snapshots as one set.
#pragma once
#include "ckpt/tensors/tensor_reader.h"
#include "resume/snapshot_slot.h"

namespace megalith {

// Error if a requested box is in none of the snapshots.
std::shared_ptr<const TensorReader> read_snapshots(std::vector<Snapshot> snapshots);

}  // namespace megalith
