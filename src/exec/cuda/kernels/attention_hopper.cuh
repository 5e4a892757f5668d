// What the two kernels of attention_hopper.h share: the block's shape, tiles, scores and results.
#pragma once
#include "exec/cuda/kernels/attention_hopper.h"
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/hopper.cuh"

namespace megalith::cuda::hopper {

constexpr int kTile = 128;     // rows of a block: 64 of each consuming warpgroup
constexpr int kThreads = 384;  // a warpgroup that loads, two that multiply
constexpr int kRegistersToLoad = 24, kRegistersToMultiply = 240;
constexpr int kConsumers = 8;  // warps

// Of each query: lse * log2(e) and D, as [b, g, r, padded]; beyond the sequence lse is infinite (probability 0).
struct QueryStats {
  float *lse, *d;
  int padded;
};
inline int padded(int s) { return (s + kTile - 1) / kTile * kTile; }

void launch_key_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                     const QueryStats& stats, cudaStream_t stream);
void launch_query_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                       const QueryStats& stats, cudaStream_t stream);

// Rows row.. of D columns from `column` on, as a tile of kRows.
template <int D, int kRows>
__device__ inline void load_tile(__nv_bfloat16* to, const CUtensorMap& map, int column, int row, u64* done) {
#pragma unroll
  for (int box = 0; box < D / 64; ++box)
#pragma unroll
    for (int i = 0; i < kRows; i += 64) load_box(to + (box * kRows + i) * 64, map, column + box * 64, row + i, done);
}

// This thread's place in its warpgroup's 64 rows of sums: rows row and row + 8, columns 8j + column and the next.
struct Lane {
  int row, column;
};
__device__ inline Lane lane() {
  return {int(threadIdx.x) % 128 / 32 * 16 + int(threadIdx.x) % 32 / 4, int(threadIdx.x) % 4 * 2};
}

// A warp of a multiplying warpgroup is done with a stage.
__device__ inline void release(u64* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(barrier);
}

// c, times `scale`, as bf16 to rows at `to`, `stride` elements apart, of which `rows` from this warpgroup's first on
// are there.
template <int D>
__device__ inline void store_sums(__nv_bfloat16* to, i64 stride, int rows, const float (&c)[D / 2], float scale) {
  const Lane at = lane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.row + 8 * half;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < D / 8; ++j)
      *reinterpret_cast<__nv_bfloat162*>(to + row * stride + 8 * j + at.column) =
          __floats2bfloat162_rn(c[4 * j + 2 * half] * scale, c[4 * j + 2 * half + 1] * scale);
  }
}

template <class Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
             "[attention_grad] shared memory");
}

}  // namespace megalith::cuda::hopper
