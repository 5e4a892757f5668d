// Shared code of the loss kernels.
#pragma once
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/loss/cross_entropy.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

constexpr float kNone = -INFINITY;

// The label's index among the columns of this rank, or -1.
__device__ inline int find(const VocabLaunch& l, int label) {
  int at = -1, before = 0;
#pragma unroll
  for (int r = 0; r < VocabLaunch::kMostRuns; ++r) {
    const bool here = label >= l.start[r] && label - l.start[r] < l.length[r];
    at = here ? before + (label - l.start[r]) : at;
    before += l.length[r];
  }
  return at;
}

template <class T>
__device__ inline float exp_of(float x) {
  return exponential<kPrecise<T>>(x);
}

// Maximum over the block, whose warps must be whole; every thread gets it. `parts`: shared memory, as for block_sum().
__device__ inline float block_max(float x, float* parts) {
  const auto of_warp = [](float y) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) y = fmaxf(y, __shfl_xor_sync(0xffffffffu, y, lane));
    return y;
  };
  const int lane = threadIdx.x % 32;
  x = of_warp(x);
  if (lane == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warp(lane < int(blockDim.x / 32) ? parts[lane] : kNone);
  __syncthreads();
  return x;
}

}  // namespace megalith::cuda
