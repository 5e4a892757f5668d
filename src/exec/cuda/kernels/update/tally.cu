#include "exec/cuda/kernels/update/tally.h"
#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

namespace {

constexpr int kTallyThreads = 256;

__device__ inline i64 tally_index() { return i64(blockIdx.x) * kTallyThreads + threadIdx.x; }

template <class X>
__global__ void __launch_bounds__(kTallyThreads) add_into_kernel(i64 n, bool anew, const X* x, double* sums) {
  if (const i64 i = tally_index(); i < n) sums[i] = (anew ? 0.0 : sums[i]) + double(x[i]);
}

__global__ void __launch_bounds__(kTallyThreads) read_from_kernel(i64 n, const double* sums, float* y) {
  if (const i64 i = tally_index(); i < n) y[i] = float(sums[i]);
}

}  // namespace

void launch_add_into(DType dtype, i64 n, bool anew, const void* x, double* sums, cudaStream_t stream) {
  if (n == 0) return;
  const int blocks = blocks_for(n, kTallyThreads);
  if (dtype == DType::f64)
    add_into_kernel<<<blocks, kTallyThreads, 0, stream>>>(n, anew, static_cast<const double*>(x), sums);
  else
    add_into_kernel<<<blocks, kTallyThreads, 0, stream>>>(n, anew, static_cast<const float*>(x), sums);
  check_launch("[add_into] launch");
}

void launch_read_from(i64 n, const double* sums, float* y, cudaStream_t stream) {
  if (n == 0) return;
  read_from_kernel<<<blocks_for(n, kTallyThreads), kTallyThreads, 0, stream>>>(n, sums, y);
  check_launch("[read_from] launch");
}

}  // namespace megalith::cuda
