// Packs (pack.cuh) as arrays of floats, which is what the kernels that keep rows in registers compute with.
#pragma once
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

template <class T, int N>
__device__ inline void unpack(const Pack<T, N>& p, float (&to)[N]) {
  const Numbers<float, N> v = unpack<float>(p);
#pragma unroll
  for (int e = 0; e < N; ++e) to[e] = v.x[e];
}

template <class T, int N>
__device__ inline Pack<T, N> packed(const float (&x)[N]) {
  Numbers<float, N> v;
#pragma unroll
  for (int e = 0; e < N; ++e) v.x[e] = x[e];
  return pack<T>(v);
}

template <class T, int N>
__device__ inline void put_pack(T* to, const Pack<T, N>& p) {
#pragma unroll
  for (int w = 0; w < p.kWords; ++w) reinterpret_cast<typename Pack<T, N>::Word*>(to)[w] = p.words[w];
}

// Elements `at`, at + 1, .. of a vector that is f32 or else bf16, widened.
template <int N>
__device__ inline void load_widened(const void* from, DType dtype, i64 at, float (&to)[N]) {
  if (dtype == DType::f32)
    unpack(load_pack<N>(static_cast<const float*>(from) + at), to);
  else
    unpack(load_pack<N>(static_cast<const __nv_bfloat16*>(from) + at), to);
}

}  // namespace megalith::cuda
