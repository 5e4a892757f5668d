// N elements that move between memory and registers as one, at most 16 bytes at a time; their place must be a multiple
// of that. They are kept as words, since bf16 converts two at a time: one instruction an element to widen, half a one to
// narrow.
#pragma once
#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Words {
  static constexpr bool kPairs = sizeof(T) == 2 && N % 2 == 0;
  using Word = std::conditional_t<kPairs, u32, T>;
  Word x[kPairs ? N / 2 : N];
};

template <class T, int N>
__device__ inline Words<T, N> load_words(const T* from) {
  return *reinterpret_cast<const Words<T, N>*>(from);
}
template <class T, int N>
__device__ inline void store_words(T* to, const Words<T, N>& w) {
  *reinterpret_cast<Words<T, N>*>(to) = w;
}

template <class T, int N>
__device__ inline void unpack(const Words<T, N>& w, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (!Words<T, N>::kPairs)
      to[i] = float(w.x[i]);
    else
      to[i] = __uint_as_float(i % 2 == 0 ? w.x[i / 2] << 16 : w.x[i / 2] & 0xffff0000u);
  }
}

template <class T, int N>
__device__ inline Words<T, N> packed(const float (&x)[N]) {
  Words<T, N> w;
  if constexpr (Words<T, N>::kPairs) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(x[2 * i], x[2 * i + 1]);
      w.x[i] = *reinterpret_cast<const u32*>(&pair);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) w.x[i] = T(x[i]);
  }
  return w;
}

// Elements `at`, at + 1, .. of a vector that is f32 or else bf16, widened.
template <int N>
__device__ inline void load_widened(const void* from, DType dtype, i64 at, float (&to)[N]) {
  if (dtype == DType::f32)
    unpack(load_words<float, N>(static_cast<const float*>(from) + at), to);
  else
    unpack(load_words<__nv_bfloat16, N>(static_cast<const __nv_bfloat16*>(from) + at), to);
}

// f with the C++ type of an activation's dtype, which prepare() has checked: f32 or bf16.
template <class F>
void dispatch_activation(DType t, F&& f) {
  if (t == DType::bf16) return f.template operator()<__nv_bfloat16>();
  f.template operator()<float>();
}

}  // namespace megalith::cuda
