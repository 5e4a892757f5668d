// Adds the sums dw, dc and db of the blocks of a norm's gradient, from the workspace [sums][blocks][h].
#pragma once
#include "exec/cuda/kernels/norm/norm.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

// The vector [h] that receives the total.
struct SummedTo {
  void* at;
  DType type;
};
struct SumsTo {
  SummedTo each[3];
};
inline SumsTo sums_to(const NormGradLaunch& l, const NormGradBuffers& b) {
  SumsTo to{};
  int sums = 0;
  to.each[sums++] = {b.dw, l.form.dw};
  if (l.shape.centred) to.each[sums++] = {b.dc, l.form.dw};
  if (l.form.bias) to.each[sums++] = {b.db, DType::f32};
  return to;
}

// 32 columns a block of 1024 threads. Each of 32 warps adds every 32nd block's sums in order, then the warps' sums are
// added in order. blockIdx.y: which sum.
__device__ __forceinline__ void add_blocks(const float* sums, int blocks, i64 h, const SumsTo& all) {
  __shared__ float parts[32][33];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x;
  sums += blockIdx.y * (blocks * h);
  float sum = 0;
  if (column < h) {
#pragma unroll 8
    for (int b = threadIdx.y; b < blocks; b += 32) sum += sums[b * h + column];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(parts[threadIdx.x][threadIdx.y]);
  const i64 to = i64(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x != 0 || to >= h) return;
  const SummedTo out = all.each[blockIdx.y];
  store_narrowed(out.at, out.type, to, sum);
}

}  // namespace megalith::cuda
