// Runs once, at a run's start: one element a thread.
#include "exec/cuda/kernels/update/split_main.h"

#include "exec/cuda/kernels/update/split_float.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256;

static __global__ void split_kernel(const float* x, __nv_bfloat16* near, u16* rest, i64 n) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  near[i] = near_of(x[i]);
  if (rest) rest[i] = rest_of(x[i]);
}

void launch_split_main(const float* x, void* near, u16* rest, i64 n, cudaStream_t stream) {
  if (n == 0) return;
  split_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(x, static_cast<__nv_bfloat16*>(near), rest, n);
  check_launch("[split_main] launch");
}

}  // namespace megalith::cuda
