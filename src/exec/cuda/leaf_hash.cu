// A thread adds the hashes of its elements, a block those of its threads. One atomic addition adds a block's sum.
// Integer sums do not depend on the order.
#include "base/rng.h"
#include "exec/cuda/launch.cuh"
#include "exec/cuda/leaf_hash_launch.h"

namespace megalith::cuda {
namespace {

constexpr int kHashThreads = 256, kHashBlocks = 132 * 8;

template <class T>
__global__ void leaf_hash_kernel(const __grid_constant__ BlockRuns runs, const T* block, i64 n, u64* sum) {
  u64 mine = 0;
  for (i64 i = i64(blockIdx.x) * kHashThreads + threadIdx.x; i < n; i += i64(gridDim.x) * kHashThreads) {
    i64 at[kMostDims], left = i;
    for (int k = runs.ndim - 1; k >= 0; --k) at[k] = left % runs.size[k], left /= runs.size[k];
    u64 h = 0;
    for (int k = 0; k < runs.ndim; ++k) h = mix(h, u64(runs.global(k, at[k])));
    mine += mix(h, u64(block[i]));
  }
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(~0u, mine, lane);
  __shared__ u64 warps[kHashThreads / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kHashThreads / 32; ++w) mine += warps[w];
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(mine));
}

}  // namespace

void launch_leaf_hash(const BlockRuns& runs, int element, const std::byte* block, u64* sum, cudaStream_t stream) {
  const i64 n = runs.elements();
  if (n == 0) return;
  const auto blocks = unsigned(std::min<i64>((n + kHashThreads - 1) / kHashThreads, kHashBlocks));
  const auto of = [&](auto bits) {
    using T = decltype(bits);
    leaf_hash_kernel<T><<<blocks, kHashThreads, 0, stream>>>(runs, reinterpret_cast<const T*>(block), n, sum);
  };
  element == 1 ? of(u8()) : element == 2 ? of(u16()) : element == 4 ? of(u32()) : of(u64());
  check_launch("hashing weights");
}

}  // namespace megalith::cuda
