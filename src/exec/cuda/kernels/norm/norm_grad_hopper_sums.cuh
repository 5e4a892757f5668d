// Sums over a group of a block's warps, for several values at once. The values share the shuffles: each step halves
// the number of values in a lane. So N values cost a warp about as much as one.
#pragma once
#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

// The sum over the warp of x[lane / (32 / N)]. Every lane has the sum of one of N values, N a power of two.
template <int N>
__device__ inline float shared_warp_sum(const float (&x)[N], int lane, int across = 16) {
  if constexpr (N == 1) {
    float sum = x[0];
    for (; across > 0; across /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, across);
    return sum;
  } else {
    const bool high = lane & across;
    float half[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const float mine = high ? x[N / 2 + i] : x[i], other = high ? x[i] : x[N / 2 + i];
      half[i] = mine + __shfl_xor_sync(0xffffffffu, other, across);
    }
    return shared_warp_sum(half, lane, across / 2);
  }
}

// Sums of N values over a group's `threads`, at most kWarps whole warps; all of them get the results. It costs one
// barrier of the group, because the warps' parts alternate between two buffers in shared memory.
template <int N, int kWarps>
class GroupSums {
 public:
  static constexpr int kParts = N * kWarps;
  static_assert(kParts <= 32, "a lane reads one part");
  struct Shared {
    float part[2][kParts];
  };

  // `barrier`: one of the block's 16, for this group only. Parts of missing warps stay zero. The caller synchronizes
  // the block before the first sum.
  __device__ GroupSums(Shared& shared, int barrier, int threads, int thread)
      : shared_(shared), barrier_(barrier), threads_(threads), lane_(thread % 32), warp_(thread / 32) {
    for (int i = thread; i < 2 * kParts; i += threads) (&shared.part[0][0])[i] = 0;
  }
  __device__ void operator()(float (&x)[N]) {
    const float mine = shared_warp_sum(x, lane_);
    float* part = shared_.part[turn_];
    turn_ ^= 1;
    if (lane_ % (32 / N) == 0) part[lane_ / (32 / N) * kWarps + warp_] = mine;
    asm volatile("barrier.sync.aligned %0, %1;" ::"r"(barrier_), "r"(threads_) : "memory");
    float sum = part[lane_ % kParts];
#pragma unroll
    for (int l = kWarps / 2; l > 0; l /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, l);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = __shfl_sync(0xffffffffu, sum, i * kWarps);
  }

 private:
  Shared& shared_;
  int barrier_, threads_, lane_, warp_, turn_ = 0;
};

}  // namespace megalith::cuda
