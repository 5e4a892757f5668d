// One thread an element: it hashes the global indices, then applies Box-Muller in f64. So the numbers equal the CPU's,
// except for the last bit of log and cos.
#include <cuda_fp16.h>

#include "exec/cuda/draw_launch.h"
#include "exec/cuda/kernels/update/split_float.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = 256;

__device__ u64 mix(u64 h, u64 index) {
  h = (h ^ (index + 0x9E3779B97F4A7C15ull)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return h ^ (h >> 31);
}
__device__ double unit(u64 h) { return double(h >> 11) * 0x1p-53; }
__device__ double normal(u64 h) { return sqrt(-2 * log(1 - unit(mix(h, 1)))) * cospi(2 * unit(mix(h, 2))); }

__device__ void put(float x, float* to) { *to = x; }
__device__ void put(float x, __nv_bfloat16* to) { *to = bf16_half_of(x); }
__device__ void put(float x, __half* to) { *to = __float2half_rn(x); }
__device__ void put(float x, u16* to) { *to = low_half_of(x); }

template <class T>
__global__ void draw_kernel(const __grid_constant__ DrawLaunch l, T* out, i64 n) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  i64 at[kMostDims], left = i;
  for (int k = l.block.ndim - 1; k >= 0; --k) at[k] = left % l.block.size[k], left /= l.block.size[k];
  u64 h = l.key;
  i64 first = 0;
  for (int k = 0; k < l.block.ndim; ++k) {
    const i64 index = l.block.global(k, at[k]);
    if (k == 0) first = index;
    h = mix(h, u64(index));
  }
  const double number = l.uniform ? sqrt(3.0) * (2 * unit(h) - 1) : normal(h);
  const double x = first >= l.true_rows ? 0 : l.mean + (l.std > 0 ? l.std * number : 0);
  put(float(x), out + i);
}

}  // namespace

void launch(const DrawLaunch& l, std::byte* out, cudaStream_t stream) {
  const i64 n = l.block.elements();
  if (n == 0) return;
  const auto into = [&](auto* to) { draw_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(l, to, n); };
  if (l.dtype == DType::f32)
    into(reinterpret_cast<float*>(out));
  else if (l.dtype == DType::bf16)
    into(reinterpret_cast<__nv_bfloat16*>(out));
  else if (l.dtype == DType::f16)
    into(reinterpret_cast<__half*>(out));
  else
    into(reinterpret_cast<u16*>(out));
  check_launch("drawing the weights");
}

}  // namespace megalith::cuda
