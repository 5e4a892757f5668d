// y[i] = f(x[i]...) over dense arrays, 16 bytes at a time with several loads in flight, odd elements at the end one by
// one by the same arithmetic. y may be one of the x: a thread has read what it overwrites.
#pragma once
#include <algorithm>
#include <type_traits>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

// N elements that move as one, at most 16 bytes at a time.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T x[N];
};

// Between any two element types; bf16 goes through float.
template <class To, class From>
__device__ inline To convert(From x) {
  if constexpr (std::is_same_v<From, __nv_bfloat16> && !std::is_same_v<To, __nv_bfloat16>)
    return To(float(x));
  else
    return To(x);
}

// The type that f works in: f64 if any operand has it, else f32.
template <class... T>
using arithmetic_t = std::common_type_t<accum_t<T>...>;

// Elements of the widest type that fill 16 bytes.
template <class... T>
constexpr int kPackSize = 16 / int(std::max({sizeof(T)...}));

// f.template operator()<T>() with T f32 or bf16, which prepare() has checked.
template <class F>
void dispatch_activation(DType t, F&& f) {
  if (t == DType::bf16) return f.template operator()<__nv_bfloat16>();
  f.template operator()<float>();
}

constexpr int kMapThreads = 256;

// A thread's packs of one operand: number first, first + kMapThreads, ... below `end`.
template <class T, int N, int U>
struct Packs {
  Pack<T, N> at[U];
  __device__ Packs(const T* x, i64 first, i64 end) {
#pragma unroll
    for (int u = 0; u < U; ++u)
      if (const i64 i = first + u * kMapThreads; i < end) at[u] = reinterpret_cast<const Pack<T, N>*>(x)[i];
  }
};

template <class S, int N, int U, class F, class Y, class... X>
__device__ inline void map_packs(const F& f, Y* y, i64 first, i64 end, const Packs<X, N, U>&... x) {
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const i64 i = first + u * kMapThreads;
    if (i >= end) continue;
    Pack<Y, N> out;
#pragma unroll
    for (int k = 0; k < N; ++k) out.x[k] = convert<Y>(f(convert<S>(x.at[u].x[k])...));
    reinterpret_cast<Pack<Y, N>*>(y)[i] = out;
  }
}

template <int N, int U, class F, class Y, class... X>
__global__ void __launch_bounds__(kMapThreads) map_kernel(i64 n, F f, Y* y, const X*... x) {
  using S = arithmetic_t<Y, X...>;
  const i64 first = i64(blockIdx.x) * (U * kMapThreads) + threadIdx.x, end = n / N, rest = end * N + threadIdx.x;
  map_packs<S, N, U>(f, y, first, end, Packs<X, N, U>(x, first, end)...);
  if (blockIdx.x == 0 && rest < n) y[rest] = convert<Y>(f(convert<S>(x[rest])...));
}

// All pointers must be multiples of 16 bytes. f: a struct that holds numbers, with a __device__ operator().
template <class F, class Y, class... X>
void launch_map(cudaStream_t stream, i64 n, const F& f, Y* y, const X*... x) {
  if (n == 0) return;
  constexpr int N = kPackSize<Y, X...>, U = sizeof...(X) > 1 ? 2 : 4;
  const int blocks = std::max(1, blocks_for(n / N, U * kMapThreads));
  map_kernel<N, U><<<blocks, kMapThreads, 0, stream>>>(n, f, y, x...);
}

struct Plus {
  template <class S>
  __device__ S operator()(S a, S b) const {
    return a + b;
  }
};
struct Same {
  template <class S>
  __device__ S operator()(S a) const {
    return a;
  }
};

}  // namespace megalith::cuda
