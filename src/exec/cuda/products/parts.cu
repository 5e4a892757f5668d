#include "exec/cuda/launch.cuh"
#include "exec/cuda/products/parts.h"

namespace megalith::cuda {

namespace {

constexpr int kPartsThreads = 256;

__global__ void split_kernel(i64 rows, i64 columns, const float* x, __nv_bfloat16* parts) {
  const i64 i = i64(blockIdx.x) * kPartsThreads + threadIdx.x;
  if (i >= rows * columns) return;
  const i64 row = i / columns;
  __nv_bfloat16* to = parts + 3 * row * columns + i - row * columns;
  float left = x[i];
  for (int part = 0; part < 3; ++part) {
    const __nv_bfloat16 here(left);
    to[part * columns] = here;
    left -= float(here);
  }
}

template <class T>
__global__ void add_parts_kernel(i64 n, int parts, const float* sums, const T* plus, T* y) {
  const i64 i = i64(blockIdx.x) * kPartsThreads + threadIdx.x;
  if (i >= n) return;
  float sum = sums[(parts - 1) * n + i];
  for (int part = parts - 2; part >= 0; --part) sum += sums[part * n + i];
  if (plus) sum += float(plus[i]);
  y[i] = T(sum);
}

}  // namespace

void launch_split(i64 rows, i64 columns, const float* x, void* parts, cudaStream_t stream) {
  if (rows * columns == 0) return;
  split_kernel<<<blocks_for(rows * columns, kPartsThreads), kPartsThreads, 0, stream>>>(
      rows, columns, x, static_cast<__nv_bfloat16*>(parts));
  check_launch("[einsum] parts");
}

void launch_add_parts(i64 n, int parts, const float* sums, const void* plus, void* y, DType dtype,
                      cudaStream_t stream) {
  if (n == 0) return;
  const int blocks = blocks_for(n, kPartsThreads);
  if (dtype == DType::f32)
    add_parts_kernel<<<blocks, kPartsThreads, 0, stream>>>(n, parts, sums, static_cast<const float*>(plus),
                                                           static_cast<float*>(y));
  else
    add_parts_kernel<<<blocks, kPartsThreads, 0, stream>>>(n, parts, sums, static_cast<const __nv_bfloat16*>(plus),
                                                           static_cast<__nv_bfloat16*>(y));
  check_launch("[einsum] sums of parts");
}

}  // namespace megalith::cuda
