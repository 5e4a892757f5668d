// Blocks of a transfer that overlaps other work.
#pragma once

namespace megalith::cuda {

// Blocks of a transfer on a lane. Each one takes a multiprocessor from concurrent work.
constexpr int kLaneBlocks = 24;

}  // namespace megalith::cuda
