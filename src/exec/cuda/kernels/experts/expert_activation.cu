// A warp has a row. For sums over a row each lane adds its packs in order, then the lanes are added.
#include "exec/cuda/kernels/experts/expert_activation.h"

#include "exec/cuda/kernels/acts.cuh"
#include "exec/cuda/kernels/gates.cuh"

namespace megalith::cuda {

namespace {

constexpr int kWarps = 8;

// act of a pack of a row u. With d, the cotangent of act(u): the cotangent of u.
template <class F, class T, int N>
struct GatedRow {
  static constexpr int kWidth = 2;
  static __device__ Numbers<float, N> value(const T* u, i64 f, i64 i) {
    return gated<F, T, N>(unpack<float>(load_pack<N>(u + i)), unpack<float>(load_pack<N>(u + f + i)));
  }
  static __device__ Numbers<float, N> slope(const T* u, i64 f, i64 i, const Numbers<float, N>& d, T* du) {
    const GatedSlopes<N> s =
        gated_slopes<F, T, N>(d, unpack<float>(load_pack<N>(u + i)), unpack<float>(load_pack<N>(u + f + i)));
    store_pack(du + i, s.dgate), store_pack(du + f + i, s.dup);
    return s.y;
  }
};

template <class F, class T, int N>
struct PlainRow {
  static constexpr int kWidth = 1;
  static __device__ Numbers<float, N> value(const T* u, i64, i64 i) {
    Numbers<float, N> x = unpack<float>(load_pack<N>(u + i));
#pragma unroll
    for (int k = 0; k < N; ++k) x.x[k] = F::value(x.x[k]);
    return x;
  }
  static __device__ Numbers<float, N> slope(const T* u, i64, i64 i, const Numbers<float, N>& d, T* du) {
    const Numbers<float, N> x = unpack<float>(load_pack<N>(u + i));
    Numbers<float, N> dx, out;
#pragma unroll
    for (int k = 0; k < N; ++k) dx.x[k] = d.x[k] * F::slope(x.x[k]), out.x[k] = F::value(x.x[k]);
    store_pack(du + i, dx);
    return out;
  }
};

template <int N>
__device__ inline Numbers<float, N> times(Numbers<float, N> x, float w) {
#pragma unroll
  for (int k = 0; k < N; ++k) x.x[k] *= w;
  return x;
}

template <class Row, class T, int N>
__global__ void __launch_bounds__(32 * kWarps)
    forward_kernel(i64 f, const i32* count, const T* u, const float* weights, T* y) {
  const i64 row = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= *count) return;
  const float w = weights[row];
  for (i64 i = i64(threadIdx.x % 32) * N; i < f; i += 32 * N)
    store_pack(y + row * f + i, times<N>(Row::value(u + row * Row::kWidth * f, f, i), w));
}

template <class Row, class T, int N>
__global__ void __launch_bounds__(32 * kWarps)
    gradient_kernel(i64 f, const i32* count, const ExpertActivationGradBuffers b) {
  const i64 row = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= *count) return;
  const float w = b.weights[row];
  const T *dy = static_cast<const T*>(b.dy) + row * f, *u = static_cast<const T*>(b.u) + row * Row::kWidth * f;
  T *du = static_cast<T*>(b.du) + row * Row::kWidth * f, *y = static_cast<T*>(b.y) + (b.y ? row * f : 0);
  float sum = 0;
  for (i64 i = i64(threadIdx.x % 32) * N; i < f; i += 32 * N) {
    const Numbers<float, N> d = unpack<float>(load_pack<N>(dy + i));
    const Numbers<float, N> act = Row::slope(u, f, i, times<N>(d, w), du);
#pragma unroll
    for (int k = 0; k < N; ++k) sum = fmaf(d.x[k], act.x[k], sum);
    if (b.y) store_pack(y + i, times<N>(act, w));
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) b.dweights[row] = sum;
}

// Calls g with the functions of a row, the element type, and the size of the packs that divides f.
template <class G>
void with_row(const ExpertActivationLaunch& l, G&& g) {
  if (l.bound * l.f == 0) return;
  const auto packs = [&]<template <class, class, int> class Row, class F, class T>() {
    constexpr int N = kPackSize<T>;
    if (l.f % N == 0)
      g.template operator()<Row<F, T, N>, T, N>();
    else
      g.template operator()<Row<F, T, 1>, T, 1>();
  };
  if (l.gated)
    dispatch_activation(l.dtype, [&]<class T>() {
      with_gate(l.gate, [&]<class F>() { packs.template operator()<GatedRow, F, T>(); });
    });
  else
    with_act(l.act, l.dtype, [&]<class F, class T>() { packs.template operator()<PlainRow, F, T>(); });
}

}  // namespace

void launch_expert_activation(const ExpertActivationLaunch& l, const i32* count, const void* u, const float* weights,
                              void* y, cudaStream_t stream) {
  with_row(l, [&]<class Row, class T, int N>() {
    forward_kernel<Row, T, N><<<blocks_for(l.bound, kWarps), 32 * kWarps, 0, stream>>>(
        l.f, count, static_cast<const T*>(u), weights, static_cast<T*>(y));
  });
  check_launch("[expert_activation] launch");
}

void launch_expert_activation_grad(const ExpertActivationLaunch& l, const i32* count,
                                   const ExpertActivationGradBuffers& b, cudaStream_t stream) {
  with_row(l, [&]<class Row, class T, int N>() {
    gradient_kernel<Row, T, N><<<blocks_for(l.bound, kWarps), 32 * kWarps, 0, stream>>>(l.f, count, b);
  });
  check_launch("[expert_activation_grad] launch");
}

}  // namespace megalith::cuda
