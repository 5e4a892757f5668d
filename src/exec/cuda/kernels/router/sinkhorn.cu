// For sums over experts a warp has tokens warp, warp + 32, ..., and lanes read a row together. For sums over tokens
// each lane has the rows lane, lane + 32, ... of 32 columns at a time.
#include "exec/cuda/kernels/router/sinkhorn.h"

#include "exec/cuda/kernels/router/router_row.cuh"

namespace megalith::cuda {

namespace {

constexpr int kSinkhornWarps = 32, kSinkhornThreads = 32 * kSinkhornWarps;

__device__ inline void rows_by_columns(const SinkhornLaunch& l, const float* y, const float* d1, float* d0) {
  const int warp = int(threadIdx.x / 32), lane = my_lane();
  for (i64 t = warp; t < l.tokens; t += kSinkhornWarps) {
    float sum = 0;
    for (int e = lane; e < l.experts; e += 32) sum += d1[e] * y[t * l.experts + e];
    sum = warp_sum(sum);
    if (lane == 0) d0[t] = 1 / float(l.tokens) / (sum + l.eps);
  }
}

// For 32 columns at a time: each warp adds its rows, then warp 0 adds the warps. Returns the change of d1, with a
// part of the sum in each lane of warp 0.
__device__ inline float columns_by_rows(const SinkhornLaunch& l, const float* y, const float* d0, float* d1,
                                        float (*parts)[32]) {
  const int warp = int(threadIdx.x / 32), lane = my_lane();
  float change = 0;
  for (int first = 0; first < l.experts; first += 32) {
    const int e = first + lane;
    float sum = 0;
    for (i64 t = warp; e < l.experts && t < l.tokens; t += kSinkhornWarps) sum += d0[t] * y[t * l.experts + e];
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && e < l.experts) {
      float all = 0;
      for (int w = 0; w < kSinkhornWarps; ++w) all += parts[w][lane];
      const float before = d1[e], now = 1 / float(l.experts) / (all + l.eps);
      d1[e] = now, change += fabsf(now - before);
    }
    __syncthreads();
  }
  return change;
}

__global__ void __launch_bounds__(kSinkhornThreads)
    sinkhorn_kernel(const __grid_constant__ SinkhornLaunch l, const float* z, float* d0, float* y) {
  __shared__ float d1[SinkhornLaunch::kMostExperts], parts[kSinkhornWarps][32];
  for (i64 i = threadIdx.x; i < l.tokens * l.experts; i += kSinkhornThreads) y[i] = expf(z[i]);
  for (int e = int(threadIdx.x); e < l.experts; e += kSinkhornThreads) d1[e] = 1;
  __syncthreads();
  for (int round = 0; round < l.most_rounds; ++round) {
    rows_by_columns(l, y, d1, d0);
    __syncthreads();
    const float change = warp_sum(columns_by_rows(l, y, d0, d1, parts));  // the value of warp 0 counts
    if (__syncthreads_or(threadIdx.x == 0 && change / float(l.experts) <= l.enough)) break;
  }
  for (i64 i = threadIdx.x; i < l.tokens * l.experts; i += kSinkhornThreads)
    y[i] *= d1[i % l.experts] * d0[i / l.experts];
}

}  // namespace

void launch_sinkhorn(const SinkhornLaunch& l, const float* z, float* d0, float* y, cudaStream_t stream) {
  if (l.tokens == 0) return;
  sinkhorn_kernel<<<1, kSinkhornThreads, 0, stream>>>(l, z, d0, y);
  check_launch("[sinkhorn] launch");
}

}  // namespace megalith::cuda
