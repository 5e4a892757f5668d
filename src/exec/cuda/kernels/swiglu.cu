// A thread has the same packs of gate and up. An amax is that of rounded results: a cast reads those.
#include "exec/cuda/kernels/swiglu.h"

#include "exec/cuda/kernels/gates.cuh"
#include "exec/cuda/kernels/magnitude.cuh"

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

// amax: read with kAmax alone.
template <class F, class T, int N, bool kAmax>
static __global__ void __launch_bounds__(kThreads) swiglu_kernel(i64 rows, i64 f, const T* x, T* y, u32* amax) {
  using P = Pack<T, N>;
  P gate[kPacksAThread], up[kPacksAThread];
  GateUpPlace at[kPacksAThread];
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    at[u] = place<N>(i64(blockIdx.x) * (kPacksAThread * kThreads) + u * kThreads + threadIdx.x, rows, f);
    if (at[u].y < 0) continue;
    gate[u] = load_pack<N>(x + at[u].gate), up[u] = load_pack<N>(x + at[u].gate + f);
  }
  u32 most = 0;
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (at[u].y < 0) continue;
    const P out = pack<T>(gated<F, T, N>(unpack<float>(gate[u]), unpack<float>(up[u])));
    put_pack(y + at[u].y, out);
    if constexpr (kAmax) most = larger_bits(most, out);
  }
  if constexpr (kAmax) raise_amax<kThreads>(amax, bits_of_f32<T>(most));
}

template <class T>
struct SwigluGradPointers {
  const T *dy, *x;
  T *dx, *y;
  u32* amax;
};

template <class F, class T, int N, bool kWithOutput, bool kAmax>
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
  u32 most = 0;
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (at[u].y < 0) continue;
    const GatedSlopes<N> s = gated_slopes<F, T, N>(unpack<float>(d[u]), unpack<float>(gate[u]), unpack<float>(up[u]));
    const P dgate = pack<T>(s.dgate), dup = pack<T>(s.dup);
    put_pack(p.dx + at[u].gate, dgate);
    put_pack(p.dx + at[u].gate + f, dup);
    if constexpr (kWithOutput) store_pack(p.y + at[u].y, s.y);
    if constexpr (kAmax) most = larger_bits(larger_bits(most, dgate), dup);
  }
  if constexpr (kAmax) raise_amax<kThreads>(p.amax, bits_of_f32<T>(most));
}

static void start_amax(float* amax, cudaStream_t stream) {
  if (amax) check_cuda(cudaMemsetAsync(amax, 0, sizeof(float), stream), "[swiglu] amax");
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

void launch_swiglu(const SwigluLaunch& l, const void* x, void* y, float* amax, cudaStream_t stream) {
  start_amax(amax, stream);
  with_packs(l, [&]<class Act, class T, int N>(int blocks) {
    const auto kernel = amax ? swiglu_kernel<Act, T, N, true> : swiglu_kernel<Act, T, N, false>;
    kernel<<<blocks, kThreads, 0, stream>>>(l.rows, l.f, static_cast<const T*>(x), static_cast<T*>(y),
                                            reinterpret_cast<u32*>(amax));
  });
  check_launch("[swiglu] launch");
}

void launch_swiglu_grad(const SwigluLaunch& l, const SwigluGradBuffers& b, cudaStream_t stream) {
  start_amax(b.amax, stream);
  with_packs(l, [&]<class Act, class T, int N>(int blocks) {
    const SwigluGradPointers<T> p{static_cast<const T*>(b.dy), static_cast<const T*>(b.x), static_cast<T*>(b.dx),
                                  static_cast<T*>(b.y), reinterpret_cast<u32*>(b.amax)};
    const auto with = b.amax ? swiglu_grad_kernel<Act, T, N, true, true> : swiglu_grad_kernel<Act, T, N, true, false>;
    const auto alone =
        b.amax ? swiglu_grad_kernel<Act, T, N, false, true> : swiglu_grad_kernel<Act, T, N, false, false>;
    (b.y ? with : alone)<<<blocks, kThreads, 0, stream>>>(l.rows, l.f, p);
  });
  check_launch("[swiglu_grad] launch");
}

}  // namespace megalith::cuda
