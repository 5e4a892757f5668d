#include "exec/cuda/kernels/experts/expert_bias.h"

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kWarps = 8, kAcross = 32, kDown = 8;

// The expert of a row: the first whose rows end after it.
__device__ inline i64 expert_of(const i32* ends, i64 experts, i64 row) {
  i64 low = 0, high = experts - 1;
  while (low < high) {
    const i64 middle = (low + high) / 2;
    if (ends[middle] > row)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// A warp has a row.
template <class T>
__global__ void __launch_bounds__(32 * kWarps) bias_kernel(ExpertBiasLaunch l, ExpertBiasBuffers b) {
  const i64 row = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= b.ends[l.experts - 1]) return;
  const T *x = static_cast<const T*>(b.x) + row * l.width,
          *bias = static_cast<const T*>(b.bias) + expert_of(b.ends, l.experts, row) * l.width;
  T* y = static_cast<T*>(b.y) + row * l.width;
  const float w = b.weights ? b.weights[row] : 1.0f;
  for (i64 i = threadIdx.x % 32; i < l.width; i += 32)
    y[i] = convert<T>(fmaf(convert<float>(bias[i]), w, convert<float>(x[i])));
}

template <class T>
__global__ void __launch_bounds__(32 * kWarps)
    dot_kernel(ExpertBiasLaunch l, const T* x, const T* biases, const i32* ends, float* dw) {
  const i64 row = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= ends[l.experts - 1]) return;
  const T* bias = biases + expert_of(ends, l.experts, row) * l.width;
  float sum = 0;
  for (i64 i = threadIdx.x % 32; i < l.width; i += 32)
    sum = fmaf(convert<float>(x[row * l.width + i]), convert<float>(bias[i]), sum);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) dw[row] = sum;
}

// blockIdx.y is the expert. kDown threads add its rows of a column; then their sums are added in order.
template <class T>
__global__ void __launch_bounds__(kAcross* kDown)
    sum_kernel(ExpertBiasLaunch l, const T* x, const i32* ends, const float* weights, float* db) {
  __shared__ float sums[kDown][kAcross];
  const i64 e = blockIdx.y, column = i64(blockIdx.x) * kAcross + threadIdx.x;
  const i64 begin = e ? ends[e - 1] : 0, end = ends[e];
  float sum = 0;
  if (column < l.width)
    for (i64 row = begin + threadIdx.y; row < end; row += kDown)
      sum = fmaf(convert<float>(x[row * l.width + column]), weights ? weights[row] : 1.0f, sum);
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= l.width) return;
  for (int d = 1; d < kDown; ++d) sum += sums[d][threadIdx.x];
  db[e * l.width + column] = sum;
}

}  // namespace

void launch_expert_bias(const ExpertBiasLaunch& l, const ExpertBiasBuffers& b, cudaStream_t stream) {
  if (l.bound * l.width == 0) return;
  dispatch_activation(
      l.dtype, [&]<class T>() { bias_kernel<T><<<blocks_for(l.bound, kWarps), 32 * kWarps, 0, stream>>>(l, b); });
  check_launch("[expert_bias] launch");
}

void launch_sum_expert_rows(const ExpertBiasLaunch& l, const void* x, const i32* ends, const float* weights, float* db,
                            cudaStream_t stream) {
  if (l.experts * l.width == 0) return;
  const dim3 grid(blocks_for(l.width, kAcross), unsigned(l.experts)), block(kAcross, kDown);
  dispatch_activation(l.dtype, [&]<class T>() {
    sum_kernel<T><<<grid, block, 0, stream>>>(l, static_cast<const T*>(x), ends, weights, db);
  });
  check_launch("[sum_expert_rows] launch");
}

void launch_dot_expert_bias(const ExpertBiasLaunch& l, const void* x, const void* bias, const i32* ends, float* dw,
                            cudaStream_t stream) {
  if (l.bound == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    dot_kernel<T><<<blocks_for(l.bound, kWarps), 32 * kWarps, 0, stream>>>(l, static_cast<const T*>(x),
                                                                           static_cast<const T*>(bias), ends, dw);
  });
  check_launch("[dot_expert_bias] launch");
}

}  // namespace megalith::cuda
