// base/split_float.h on the GPU: an f32 number as the nearest bf16 and the remaining bits.
#pragma once
#include <cuda_bf16.h>

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

__device__ inline bool is_nan_bits(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

__device__ inline __nv_bfloat16 bf16_half_of(float x) {
  const u32 u = __float_as_uint(x);
  return __ushort_as_bfloat16(u16(is_nan_bits(u) ? u >> 16 | 0x40 : (u + 0x8000u) >> 16));
}

__device__ inline u16 low_half_of(float x) {
  const u32 u = __float_as_uint(x);
  return is_nan_bits(u) ? u16{0} : u16(u);
}

__device__ inline float join_float(__nv_bfloat16 bf16_half, u16 low_half) {
  return __uint_as_float((u32(__bfloat16_as_ushort(bf16_half)) << 16) + u32(int(short(low_half))));
}

// Numbers as C: the nearest bf16 or f16, or unchanged in f32.
template <class C, int N>
__device__ inline Pack<C, N> pack_near(const Numbers<float, N>& v) {
  C x[N];
#pragma unroll
  for (int k = 0; k < N; ++k)
    if constexpr (!std::is_same_v<C, __nv_bfloat16>)
      x[k] = C(v.x[k]);
    else
      x[k] = bf16_half_of(v.x[k]);
  Pack<C, N> p;
  memcpy(p.words, x, sizeof x);
  return p;
}

template <int N>
__device__ inline Pack<u16, N> pack_rest(const Numbers<float, N>& v) {
  u16 x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = low_half_of(v.x[k]);
  Pack<u16, N> p;
  memcpy(p.words, x, sizeof x);
  return p;
}

template <int N>
__device__ inline Numbers<float, N> joined(const Pack<__nv_bfloat16, N>& bf16_half, const Pack<u16, N>& low_half) {
  __nv_bfloat16 a[N];
  u16 b[N];
  memcpy(a, bf16_half.words, sizeof a), memcpy(b, low_half.words, sizeof b);
  Numbers<float, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.x[k] = join_float(a[k], b[k]);
  return out;
}

}  // namespace megalith::cuda
