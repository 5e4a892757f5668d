// Runs once, at the start of a run: one element a thread.
#include "exec/cuda/kernels/update/split_main.h"

#include "exec/cuda/kernels/update/split_float.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256;

static __global__ void split_kernel(const float* x, __nv_bfloat16* bf16_half, u16* low_half, i64 n) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  bf16_half[i] = bf16_half_of(x[i]);
  if (low_half) low_half[i] = low_half_of(x[i]);
}

void launch_split_main(const float* x, void* bf16_half, u16* low_half, i64 n, cudaStream_t stream) {
  if (n == 0) return;
  split_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(x, static_cast<__nv_bfloat16*>(bf16_half), low_half,
                                                                 n);
  check_launch("[split_main] launch");
}

}  // namespace megalith::cuda
