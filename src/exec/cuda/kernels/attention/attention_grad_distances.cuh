// The gradient of a bias by relative positions: sums of dS for each distance between key and query. A warp's 16
// queries visit the keys in rising order, 32 at a time, which gives 47 diagonals. Lane i sums diagonal i, which ends
// there. It also sums diagonal 32 + i, which is diagonal i of the next 32 keys. So each distance is written once,
// without atomics.
#pragma once
#include "exec/cuda/kernels/attention/attention_tile.cuh"

namespace megalith::cuda::gradient {

struct DistanceSums {
  static constexpr int kColumns = 32, kRowStep = kColumns + 1;
  static constexpr int kStashBytes = 16 * kRowStep * 4;  // of one warp
  float* stash;                                          // shared [16, kRowStep]
  float* to;                                             // distance 0, in memory
  int reach;
  float open = 0, low = 0,
        high = 0;  // sum of an unfinished diagonal; sums of all distances from `reach` on, on both sides
  int next = 0;    // the first of the next keys, relative to the warp's first query

  // ds: the warp's queries and N keys. `delta`: the position of the first key, relative to the first query. Each call
  // continues with the next keys.
  template <int N>
  __device__ void add(const Sums<N>& ds, int delta) {
#pragma unroll
    for (int piece = 0; piece < N / kColumns; ++piece) {
      constexpr int kEach = kColumns / 8;
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kEach; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) stash[row_of(e) * kRowStep + column_of(j, e)] = ds[piece * kEach + j][e];
      __syncwarp();
      float ends = open;
      const int lane = lane_id();
      open = 0;
#pragma unroll
      for (int row = 0; row < 16; ++row) {
        const float x = stash[row * kRowStep + ((lane + row - 15) & (kColumns - 1))];
        (row >= 15 - lane ? ends : open) += x;
      }
      store(delta + piece * kColumns + lane - 15, ends);
    }
    next = delta + N;
  }

  __device__ void finish() {
    if (lane_id() < 15) store(next + lane_id() - 15, open);
    low = warp_sum(low), high = warp_sum(high);
    if (lane_id() == 0) to[-reach] = low, to[reach] = high;
  }

 private:
  __device__ void store(int distance, float sum) {
    if (distance <= -reach)
      low += sum;
    else if (distance >= reach)
      high += sum;
    else
      to[distance] = sum;
  }
};

}  // namespace megalith::cuda::gradient
