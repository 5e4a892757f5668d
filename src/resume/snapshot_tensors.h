// The tensors of several ranks' snapshots as one set.
#pragma once
#include "ckpt/tensors/tensor_reader.h"
#include "resume/snapshot_slot.h"

namespace megalith {

// Reading a box that none of them has is an Error.
std::shared_ptr<const TensorReader> read_snapshots(std::vector<Snapshot> snapshots);

}  // namespace megalith
