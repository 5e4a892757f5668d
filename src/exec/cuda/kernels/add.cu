// A thread computes packs of the result along its innermost loop. It gathers the small operand. If its innermost stride
// is 1 (a bias of the last dims), it reads packs.
#include "exec/cuda/kernels/add.h"

#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/products/loop_table.cuh"

namespace megalith::cuda {

enum { kSmall = 0, kResult = 1 };
constexpr int kPacksAThread = 2;

struct Strided {
  LoopTable loops;
  i64 n;        // elements of the result
  i64 step;     // the small operand's stride in the innermost loop
  bool packed;  // the small operand is read as packs
};

template <class S, int N, class Y>
__device__ inline Numbers<S, N> small_numbers(const Strided& s, const Y* y, i64 at) {
  if (s.packed) return unpack<S>(load_pack<N>(y + at));
  Numbers<S, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.x[k] = convert<S>(y[at + k * s.step]);
  return out;
}

// z = x + y, or z = y without x.
template <class Z, class Y, int N, bool kHasX>
static __global__ void __launch_bounds__(kMapThreads)
    strided_kernel(const __grid_constant__ Strided s, const Z* x, const Y* y, Z* z) {
  using S = arithmetic_t<Z, Y>;
  const i64 first = i64(blockIdx.x) * (kPacksAThread * kMapThreads) + threadIdx.x;
  Pack<Z, N> a[kPacksAThread];
  Numbers<S, N> b[kPacksAThread];
  i64 to[kPacksAThread];
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    const i64 i = (first + u * kMapThreads) * N;
    to[u] = -1;
    if (i >= s.n) continue;
    const Offsets o = offsets(s.loops, i);
    to[u] = o.at[kResult];
    if constexpr (kHasX) a[u] = load_pack<N>(x + to[u]);
    b[u] = small_numbers<S, N>(s, y, o.at[kSmall]);
  }
#pragma unroll
  for (int u = 0; u < kPacksAThread; ++u) {
    if (to[u] < 0) continue;
    if constexpr (kHasX)
      store_pack(z + to[u], each<S, N>(Plus{}, unpack<S>(a[u]), b[u]));
    else
      store_pack(z + to[u], b[u]);
  }
}

template <class Z, class Y, bool kHasX>
static void launch_strided(cudaStream_t stream, Strided s, const Z* x, const Y* y, Z* z) {
  constexpr int N = kPackSize<Z>;
  LoopTable& t = s.loops;
  if (t.count == 0) t.n[0] = 1, t.count = 1;
  s.step = t.stride[0][kSmall];
  const bool packs = t.stride[0][kResult] == 1 && t.n[0] % N == 0 && strides_divide(t, kResult, N, 1);
  s.packed = packs && s.step == 1 && strides_divide(t, kSmall, N, 1);
  const int blocks = blocks_for(packs ? s.n / N : s.n, kPacksAThread * kMapThreads);
  if (packs)
    strided_kernel<Z, Y, N, kHasX><<<blocks, kMapThreads, 0, stream>>>(s, x, y, z);
  else
    strided_kernel<Z, Y, 1, kHasX><<<blocks, kMapThreads, 0, stream>>>(s, x, y, z);
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
