// y[i] = f(x[i]...) over dense arrays, 16 bytes at a time, with several loads in flight. Elements that fill no pack
// follow one by one, with the same arithmetic. y may be one of the x: a thread reads an element before it overwrites
// it.
#pragma once
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

constexpr int kMapThreads = 256;

// A thread's packs of one operand: numbers first, first + kMapThreads, ... below `end`.
template <class T, int N, int U>
struct Packs {
  Pack<T, N> at[U];
  __device__ Packs(const T* x, i64 first, i64 end) {
#pragma unroll
    for (int u = 0; u < U; ++u)
      if (const i64 i = first + u * kMapThreads; i < end) at[u] = load_pack<N>(x + i * N);
  }
};

template <class S, int N, class F, class... V>
__device__ inline Numbers<S, N> each(const F& f, const V&... v) {
  Numbers<S, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.x[k] = f(v.x[k]...);
  return out;
}

template <class S, int N, int U, class F, class Y, class... X>
__device__ inline void map_packs(const F& f, Y* y, i64 first, i64 end, const Packs<X, N, U>&... x) {
#pragma unroll
  for (int u = 0; u < U; ++u)
    if (const i64 i = first + u * kMapThreads; i < end) store_pack(y + i * N, each<S, N>(f, unpack<S>(x.at[u])...));
}

template <int N, int U, class F, class Y, class... X>
__global__ void __launch_bounds__(kMapThreads) map_kernel(i64 n, F f, Y* y, const X*... x) {
  using S = arithmetic_t<Y, X...>;
  const i64 first = i64(blockIdx.x) * (U * kMapThreads) + threadIdx.x, end = n / N, rest = end * N + threadIdx.x;
  map_packs<S, N, U>(f, y, first, end, Packs<X, N, U>(x, first, end)...);
  if (blockIdx.x == 0 && rest < n) y[rest] = convert<Y>(f(convert<S>(x[rest])...));
}

// All pointers must be multiples of 16 bytes. f: a struct of numbers with a __device__ operator().
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

}  // namespace megalith::cuda
