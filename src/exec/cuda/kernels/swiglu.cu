// A thread has the same packs of gate and up.
#include "exec/cuda/kernels/swiglu.h"

#include "exec/cuda/kernels/gates.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256, kPacksAThread = 2;

struct GateUpPlace {
  i64 y, gate;  // -1: none
};
template <int N>
__device__ inline GateUpPlace place(i64 pack, i64 rows, i64 f) {
  const i64 a_row = f / N, row = pack / a_row;
  if (row >= rows) return {-1, -1};
  return {pack * N, (pack + row * a_row) * N};
}

template <class F, class T, int N>
static __global__ void __launch_bounds__(kThreads) swiglu_kernel(i64 rows, i64 f, const T* x, T* y) {
  using P = Pack<T, N>;
  P gate[kPacksAThread], up[kPacksAThread];
  GateUpPlace at[kPacksAThread];
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    at[u] = place<N>(i64(blockIdx.x) * (kPacksAThread * kThreads) + u * kThreads + threadIdx.x, rows, f);
    if (at[u].y < 0) continue;
    gate[u] = load_pack<N>(x + at[u].gate), up[u] = load_pack<N>(x + at[u].gate + f);
  }
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (at[u].y < 0) continue;
    store_pack(y + at[u].y, gated<F, T, N>(unpack<float>(gate[u]), unpack<float>(up[u])));
  }
}

template <class T>
struct SwigluGradPointers {
  const T *dy, *x;
  T *dx, *y;
};

template <class F, class T, int N, bool kWithOutput>
static __global__ void __launch_bounds__(kThreads) swiglu_grad_kernel(i64 rows, i64 f, const SwigluGradPointers<T> p) {
  using P = Pack<T, N>;
  P d[kPacksAThread], gate[kPacksAThread], up[kPacksAThread];
  GateUpPlace at[kPacksAThread];
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    at[u] = place<N>(i64(blockIdx.x) * (kPacksAThread * kThreads) + u * kThreads + threadIdx.x, rows, f);
    if (at[u].y < 0) continue;
    d[u] = load_pack<N>(p.dy + at[u].y);
    gate[u] = load_pack<N>(p.x + at[u].gate), up[u] = load_pack<N>(p.x + at[u].gate + f);
  }
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (at[u].y < 0) continue;
    const GatedSlopes<N> s = gated_slopes<F, T, N>(unpack<float>(d[u]), unpack<float>(gate[u]), unpack<float>(up[u]));
    store_pack(p.dx + at[u].gate, s.dgate);
    store_pack(p.dx + at[u].gate + f, s.dup);
    if constexpr (kWithOutput) store_pack(p.y + at[u].y, s.y);
  }
}

// Calls g with the gate's function, the element type, and the size of the packs that divides f.
template <class F>
static void with_packs(const SwigluLaunch& l, F&& g) {
  if (l.rows * l.f == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    with_gate(l.act, [&]<class Act>() {
      constexpr int N = kPackSize<T>;
      if (l.f % N == 0)
        g.template operator()<Act, T, N>(blocks_for(l.rows * l.f / N, kPacksAThread * kThreads));
      else
        g.template operator()<Act, T, 1>(blocks_for(l.rows * l.f, kPacksAThread * kThreads));
    });
  });
}

void launch_swiglu(const SwigluLaunch& l, const void* x, void* y, cudaStream_t stream) {
  with_packs(l, [&]<class Act, class T, int N>(int blocks) {
    swiglu_kernel<Act, T, N>
        <<<blocks, kThreads, 0, stream>>>(l.rows, l.f, static_cast<const T*>(x), static_cast<T*>(y));
  });
  check_launch("[swiglu] launch");
}

void launch_swiglu_grad(const SwigluLaunch& l, const SwigluGradBuffers& b, cudaStream_t stream) {
  with_packs(l, [&]<class Act, class T, int N>(int blocks) {
    const SwigluGradPointers<T> p{static_cast<const T*>(b.dy), static_cast<const T*>(b.x), static_cast<T*>(b.dx),
                                  static_cast<T*>(b.y)};
    if (b.y)
      swiglu_grad_kernel<Act, T, N, true><<<blocks, kThreads, 0, stream>>>(l.rows, l.f, p);
    else
      swiglu_grad_kernel<Act, T, N, false><<<blocks, kThreads, 0, stream>>>(l.rows, l.f, p);
  });
  check_launch("[swiglu_grad] launch");
}

}  // namespace megalith::cuda
