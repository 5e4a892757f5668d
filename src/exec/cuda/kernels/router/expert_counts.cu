#include "exec/cuda/kernels/router/expert_counts.h"

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

namespace {

constexpr int kCountThreads = 256;

// The sum of all counts, for each thread.
__device__ inline double total_of(int n, const float* counts) {
  __shared__ double parts[32];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += kCountThreads) sum += double(counts[i]);
  return block_sum(sum, parts);
}

__global__ void __launch_bounds__(kCountThreads) count_shares_kernel(int n, const float* counts, float* shares) {
  const double sum = total_of(n, counts);
  for (int i = threadIdx.x; i < n; i += kCountThreads) shares[i] = sum == 0 ? 0.0f : float(double(counts[i]) / sum);
}

__global__ void __launch_bounds__(kCountThreads)
    balance_bias_kernel(int n, float rate, const float* counts, const double* step_counts, float* bias) {
  const double sum = total_of(n, counts);
  if (*step_counts == 0) return;
  for (int i = threadIdx.x; i < n; i += kCountThreads) {
    const double above = double(counts[i]) * double(n) - sum;
    if (above != 0) bias[i] += above < 0 ? rate : -rate;
  }
}

}  // namespace

void launch_count_shares(int n, const float* counts, float* shares, cudaStream_t stream) {
  count_shares_kernel<<<1, kCountThreads, 0, stream>>>(n, counts, shares);
  check_launch("[count_shares] launch");
}

void launch_balance_bias(int n, float rate, const float* counts, const double* scalars, int counts_at, float* bias,
                         cudaStream_t stream) {
  balance_bias_kernel<<<1, kCountThreads, 0, stream>>>(n, rate, counts, scalars + counts_at, bias);
  check_launch("[balance_bias] launch");
}

}  // namespace megalith::cuda
