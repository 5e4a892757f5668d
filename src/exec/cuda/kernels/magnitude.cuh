// The largest |x| as the bits of an f32 without sign, where NaN is above infinity: integers, so the order of maxima
// does not matter.
#pragma once
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

inline constexpr u32 kInfinityBits = 0x7f800000u;

template <class X>
__device__ inline float as_float(X x) {
  return float(x);
}
template <class X>
__device__ inline u32 magnitude_of(X x) {
  return __float_as_uint(as_float(x)) & 0x7fffffffu;
}

// The larger of `most` and 4-byte words of X. Pairs of bf16 stay pairs until bits_of_f32().
template <class X, int kWords>
__device__ inline u32 larger_bits(u32 most, const u32 (&words)[kWords]) {
  if constexpr (std::is_same_v<X, __nv_bfloat16>) {
#pragma unroll
    for (u32 word : words) most = __vmaxu2(most, word & 0x7fff7fffu);
  } else if constexpr (std::is_same_v<X, float>) {
#pragma unroll
    for (u32 word : words) most = max(most, word & 0x7fffffffu);
  } else {
    X x[kWords * 4 / sizeof(X)];
    memcpy(x, words, sizeof x);
#pragma unroll
    for (X one : x) most = max(most, magnitude_of(one));
  }
  return most;
}
// The larger of two such results.
template <class X>
__device__ inline u32 larger_of_pairs(u32 a, u32 b) {
  if constexpr (std::is_same_v<X, __nv_bfloat16>) return __vmaxu2(a, b);
  return max(a, b);
}
template <class X>
__device__ inline u32 bits_of_f32(u32 most) {
  if constexpr (std::is_same_v<X, __nv_bfloat16>) return max(most >> 16, most & 0xffffu) << 16;
  return most;
}
template <class X, int N>
__device__ inline u32 larger_bits(u32 most, const Pack<X, N>& v) {
  u32 words[(sizeof v + 3) / 4] = {};
  memcpy(words, v.words, sizeof v);
  return larger_bits<X>(most, words);
}

// Raises *amax to the largest of a warp or of a block of at most kThreads, of an f32's bits. All threads call it. NaN
// counts as infinite.
__device__ inline void raise_amax_by_warp(u32* amax, u32 most) {
  most = min(__reduce_max_sync(0xffffffffu, most), kInfinityBits);
  if (threadIdx.x % 32 == 0 && most > 0) atomicMax(amax, most);
}
template <int kThreads>
__device__ inline void raise_amax(u32* amax, u32 most) {
  __shared__ u32 of_warp[kThreads / 32];
  most = __reduce_max_sync(0xffffffffu, most);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x < 32) raise_amax_by_warp(amax, threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
}

}  // namespace megalith::cuda
