// hash_block() of plan/leaf_hash.h on the GPU.
#pragma once
#include <span>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "graph/type.h"

namespace megalith::cuda {

class LeafHashes {
 public:
  struct Block {
    Type type;
    const std::byte* data;
  };
  // The hashes after the work enqueued so far. Waits.
  std::vector<u64> of(std::span<const Block> blocks, const Mesh& mesh, const Coord& coord, cudaStream_t stream);

 private:
  DeviceMemory sums_;
  size_t room_ = 0;  // number of blocks that the memory has room for
};

}  // namespace megalith::cuda
