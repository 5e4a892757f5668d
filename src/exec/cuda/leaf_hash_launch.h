// The launch that leaf_hash.h uses.
#pragma once
#include "exec/cuda/block_runs.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Adds the hash of a block to `sum`. `element`: bytes of an element, 1, 2, 4 or 8.
void launch_leaf_hash(const BlockRuns& runs, int element, const std::byte* block, u64* sum, cudaStream_t stream);

}  // namespace megalith::cuda
