#include "exec/cuda/leaf_hash.h"

#include "exec/cuda/leaf_hash_launch.h"
#include "exec/cuda/type_runs.h"

namespace megalith::cuda {

std::vector<u64> LeafHashes::of(std::span<const Block> blocks, const Mesh& mesh, const Coord& coord,
                                cudaStream_t stream) {
  constexpr const char* kWhat = "hashing weights";
  const size_t bytes = sizeof(u64) * blocks.size();
  if (blocks.size() > room_) {
    sums_.reset();
    sums_ = try_device_memory(i64(bytes));
    check(bool(sums_), "the GPU has no {} bytes for hashes of weights", bytes);
    room_ = blocks.size();
  }
  std::vector<u64> out(blocks.size());
  if (blocks.empty()) return out;
  auto* sums = reinterpret_cast<u64*>(sums_.get());
  check_cuda(cudaMemsetAsync(sums, 0, bytes, stream), kWhat);
  for (size_t i = 0; i < blocks.size(); ++i)
    launch_leaf_hash(runs_of(blocks[i].type, mesh, coord), int(size_of(blocks[i].type.dtype)), blocks[i].data, sums + i,
                     stream);
  check_cuda(cudaMemcpyAsync(out.data(), sums, bytes, cudaMemcpyDefault, stream), kWhat);
  check_cuda(cudaStreamSynchronize(stream), kWhat);
  return out;
}

}  // namespace megalith::cuda
