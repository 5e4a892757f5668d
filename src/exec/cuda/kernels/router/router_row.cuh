// Shared code of the router's kernels: a warp has one token, and each lane the experts lane, lane + 32, ...
#pragma once
#include "exec/cuda/launch.cuh"
#include "ops/router_score.h"

namespace megalith::cuda {

constexpr int kRouterWarps = 4, kRouterThreads = 32 * kRouterWarps;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline float warp_max(float x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, lane));
  return x;
}
__device__ inline u64 warp_max(u64 x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) x = max(x, __shfl_xor_sync(kAllLanes, x, lane));
  return x;
}

// The token of this warp; `tokens` or more: none.
__device__ inline i64 my_token() { return i64(blockIdx.x) * kRouterWarps + threadIdx.x / 32; }
__device__ inline int my_lane() { return int(threadIdx.x % 32); }
inline int router_blocks(i64 tokens) { return blocks_for(tokens, kRouterWarps); }

// Maps floats to integers above 0 with the same order; -0 maps like 0.
__device__ inline u32 ordered(float x) {
  const u32 bits = __float_as_uint(x + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The softmax of n numbers: e^(x - m) times `over`.
struct WarpSoftmax {
  float m, over, sum;
  __device__ float operator()(float x) const { return expf(x - m) * over; }
};
template <class X>
__device__ inline WarpSoftmax warp_softmax(int n, const X& x) {
  float m = -INFINITY, sum = 0;
  for (int i = my_lane(); i < n; i += 32) m = fmaxf(m, x(i));
  m = warp_max(m);
  for (int i = my_lane(); i < n; i += 32) sum += expf(x(i) - m);
  sum = warp_sum(sum);
  return {m, 1 / sum, sum};
}

}  // namespace megalith::cuda
