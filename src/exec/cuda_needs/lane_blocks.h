// Blocks of a transfer that overlaps other work.
#pragma once

namespace megalith::cuda {

// Blocks of a transfer on a lane. Each one takes a multiprocessor from concurrent work.
constexpr int kLaneBlocks = 24;
// In symmetric memory 16 blocks move 92 to 97% of the bytes of 32 (docs/notes/multi-gpu.md).
constexpr int kSymmetricLaneBlocks = 16;

}  // namespace megalith::cuda
