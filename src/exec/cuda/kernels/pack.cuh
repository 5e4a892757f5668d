// N consecutive elements, loaded and stored as 16-byte words if they fill them. They stay words until their use:
// otherwise the compiler would unpack bf16 numbers one by one at the load and at the store.
#pragma once
#include <algorithm>
#include <type_traits>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

// bf16 and f16: two bytes an element.
template <class T>
constexpr bool kHalf = std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>;

// Converts between any two element types; bf16 and f16 go through float.
template <class To, class From>
__device__ inline To convert(From x) {
  if constexpr (kHalf<From> && !std::is_same_v<To, From>)
    return To(float(x));
  else
    return To(x);
}

// The type of arithmetic on all of T: f64 if one of them is f64, else f32.
template <class... T>
using arithmetic_t = std::common_type_t<accum_t<T>...>;

// The number of elements of the widest type in 16 bytes.
template <class... T>
constexpr int kPackSize = 16 / int(std::max({sizeof(T)...}));

template <int kBytes>
using word_t =
    std::conditional_t<kBytes % 16 == 0, uint4,
                       std::conditional_t<kBytes % 8 == 0, uint2, std::conditional_t<kBytes % 4 == 0, u32, u16>>>;

template <class T, int N>
struct Pack {
  using Word = word_t<N* int(sizeof(T))>;
  static constexpr int kWords = N * int(sizeof(T)) / int(sizeof(Word));
  Word words[kWords];
};

// The elements as numbers to compute with.
template <class S, int N>
struct Numbers {
  S x[N];
};

// `from` must be a multiple of the word.
template <int N, class T>
__device__ inline Pack<T, N> load_pack(const T* from) {
  Pack<T, N> p;
#pragma unroll
  for (int w = 0; w < p.kWords; ++w) p.words[w] = reinterpret_cast<const typename Pack<T, N>::Word*>(from)[w];
  return p;
}

template <class S, class T, int N>
__device__ inline Numbers<S, N> unpack(const Pack<T, N>& p) {
  Numbers<S, N> out;
  if constexpr (std::is_same_v<T, __nv_bfloat16> && N % 2 == 0) {
    u32 pairs[N / 2];
    memcpy(pairs, p.words, sizeof pairs);
#pragma unroll
    for (int k = 0; k < N; k += 2) {
      out.x[k] = S(__uint_as_float(pairs[k / 2] << 16));
      out.x[k + 1] = S(__uint_as_float(pairs[k / 2] & 0xffff0000u));
    }
  } else if constexpr (std::is_same_v<T, __half> && N % 2 == 0) {
    __half2 pairs[N / 2];
    memcpy(pairs, p.words, sizeof pairs);
#pragma unroll
    for (int k = 0; k < N; k += 2) {
      const float2 pair = __half22float2(pairs[k / 2]);
      out.x[k] = S(pair.x), out.x[k + 1] = S(pair.y);
    }
  } else {
    T x[N];
    memcpy(x, p.words, sizeof x);
#pragma unroll
    for (int k = 0; k < N; ++k) out.x[k] = convert<S>(x[k]);
  }
  return out;
}

template <class T, class S, int N>
__device__ inline Pack<T, N> pack(const Numbers<S, N>& v) {
  Pack<T, N> p;
  if constexpr (std::is_same_v<T, __nv_bfloat16> && N % 2 == 0) {
    __nv_bfloat162 pairs[N / 2];
#pragma unroll
    for (int k = 0; k < N; k += 2) pairs[k / 2] = __floats2bfloat162_rn(float(v.x[k]), float(v.x[k + 1]));
    memcpy(p.words, pairs, sizeof pairs);
  } else if constexpr (std::is_same_v<T, __half> && N % 2 == 0) {
    __half2 pairs[N / 2];
#pragma unroll
    for (int k = 0; k < N; k += 2) pairs[k / 2] = __floats2half2_rn(float(v.x[k]), float(v.x[k + 1]));
    memcpy(p.words, pairs, sizeof pairs);
  } else {
    T x[N];
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = convert<T>(v.x[k]);
    memcpy(p.words, x, sizeof x);
  }
  return p;
}

template <class T, int N>
__device__ inline void put_pack(T* to, const Pack<T, N>& p) {
#pragma unroll
  for (int w = 0; w < p.kWords; ++w) reinterpret_cast<typename Pack<T, N>::Word*>(to)[w] = p.words[w];
}

template <class T, class S, int N>
__device__ inline void store_pack(T* to, const Numbers<S, N>& v) {
  put_pack(to, pack<T>(v));
}

// The same with plain arrays of floats, for kernels that keep rows in registers.
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

// Elements `at`, at + 1, .. of a vector in f32, bf16 or f16, as f32.
template <int N>
__device__ inline void load_widened(const void* from, DType dtype, i64 at, float (&to)[N]) {
  if (dtype == DType::f32)
    unpack(load_pack<N>(static_cast<const float*>(from) + at), to);
  else if (dtype == DType::f16)
    unpack(load_pack<N>(static_cast<const __half*>(from) + at), to);
  else
    unpack(load_pack<N>(static_cast<const __nv_bfloat16*>(from) + at), to);
}

// Stores x as element `at` of a vector in f32, bf16 or f16.
__device__ inline void store_narrowed(void* to, DType dtype, i64 at, float x) {
  if (dtype == DType::f32)
    static_cast<float*>(to)[at] = x;
  else if (dtype == DType::f16)
    static_cast<__half*>(to)[at] = __half(x);
  else
    static_cast<__nv_bfloat16*>(to)[at] = __nv_bfloat16(x);
}

// f.template operator()<T>() with T f32, bf16 or f16; prepare() has checked the type.
template <class F>
void dispatch_activation(DType t, F&& f) {
  if (t == DType::bf16) return f.template operator()<__nv_bfloat16>();
  if (t == DType::f16) return f.template operator()<__half>();
  f.template operator()<float>();
}

}  // namespace megalith::cuda
