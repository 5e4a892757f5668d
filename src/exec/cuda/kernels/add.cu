// A thread makes packs of the result along its innermost loop. The small operand is gathered, or read as a pack where
// it runs along too (a bias of the last dims).
#include "exec/cuda/kernels/add.h"

#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/kernels/loop_table.cuh"

namespace megalith::cuda {

enum { kSmall = 0, kResult = 1 };
constexpr int kPacksAThread = 2;

struct Strided {
  LoopTable loops;
  i64 n, step;  // elements of the result; the small operand's stride in the innermost loop
  bool packed;  // the small operand is read as packs
};

template <class Y, int N>
__device__ inline Pack<Y, N> small_pack(const Strided& s, const Y* y, i64 at) {
  if (s.packed) return *reinterpret_cast<const Pack<Y, N>*>(y + at);
  Pack<Y, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.x[k] = y[at + k * s.step];
  return out;
}

// z = x + y, or z = y where there is no x.
template <class X, class Y, int N, bool kHasX>
static __global__ void __launch_bounds__(kMapThreads)
    strided_kernel(const __grid_constant__ Strided s, const X* x, const Y* y, X* z) {
  using S = arithmetic_t<X, Y>;
  const i64 first = i64(blockIdx.x) * (kPacksAThread * kMapThreads) + threadIdx.x;
  Pack<X, N> a[kPacksAThread];
  Pack<Y, N> b[kPacksAThread];
  i64 to[kPacksAThread];
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    const i64 i = (first + u * kMapThreads) * N;
    to[u] = -1;
    if (i >= s.n) continue;
    const Offsets o = offsets(s.loops, i);
    to[u] = o.at[kResult];
    if constexpr (kHasX) a[u] = *reinterpret_cast<const Pack<X, N>*>(x + to[u]);
    b[u] = small_pack<Y, N>(s, y, o.at[kSmall]);
  }
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (to[u] < 0) continue;
    Pack<X, N> out;
#pragma unroll
    for (int k = 0; k < N; ++k)
      out.x[k] = convert<X>(kHasX ? convert<S>(a[u].x[k]) + convert<S>(b[u].x[k]) : convert<S>(b[u].x[k]));
    *reinterpret_cast<Pack<X, N>*>(z + to[u]) = out;
  }
}

template <class X, class Y, bool kHasX>
static void launch_strided(cudaStream_t stream, Strided s, const X* x, const Y* y, X* z) {
  constexpr int N = kPackSize<X, Y>;
  LoopTable& t = s.loops;
  if (t.count == 0) t.n[0] = 1, t.count = 1;
  const int last = t.count - 1;
  LoopTable outer = t;
  outer.count = last;
  s.step = t.stride[last][kSmall];
  const bool packs = t.stride[last][kResult] == 1 && t.n[last] % N == 0 && strides_divide(outer, kResult, N);
  s.packed = packs && s.step == 1 && strides_divide(outer, kSmall, N);
  if (packs)
    strided_kernel<X, Y, N, kHasX>
        <<<blocks_for(s.n / N, kPacksAThread * kMapThreads), kMapThreads, 0, stream>>>(s, x, y, z);
  else
    strided_kernel<X, Y, 1, kHasX>
        <<<blocks_for(s.n, kPacksAThread * kMapThreads), kMapThreads, 0, stream>>>(s, x, y, z);
}

template <class X, class Y>
static void launch_add(const AddLaunch& l, const void* x, const void* y, void* z, cudaStream_t stream) {
  if (l.flat)
    launch_map(stream, l.n, Plus{}, static_cast<X*>(z), static_cast<const X*>(x), static_cast<const Y*>(y));
  else
    launch_strided<X, Y, true>(stream, {l.loops, l.n}, static_cast<const X*>(x), static_cast<const Y*>(y),
                               static_cast<X*>(z));
}

void launch(const AddLaunch& l, const void* x, const void* y, void* z, cudaStream_t stream) {
  if (l.n == 0) return;
  if (l.x == DType::f64)
    launch_add<double, double>(l, x, y, z, stream);
  else
    dispatch_activation(
        l.x, [&]<class X>() { dispatch_activation(l.y, [&]<class Y>() { launch_add<X, Y>(l, x, y, z, stream); }); });
  check_launch("[add] launch");
}

void launch(const BroadcastLaunch& l, const void* x, void* y, cudaStream_t stream) {
  if (l.n == 0) return;
  dispatch(l.from, [&]<class X>() {
    dispatch(l.to, [&]<class Y>() {
      launch_strided<Y, X, false>(stream, {l.loops, l.n}, nullptr, static_cast<const X*>(x), static_cast<Y*>(y));
    });
  });
  check_launch("[broadcast] launch");
}

}  // namespace megalith::cuda
