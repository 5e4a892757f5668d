// An element's hash is mix() of the hash of its row (all dims but the last) and of its index in the last dim. A block
// makes its rows' hashes first. Hashing costs as much as memory does, so the last mix is spelled out in 32-bit words:
// indices are below 2^31, so that adding mix()'s constant, whose low word is below 2^31 too, never carries, and the
// high word is the row's; and the hash's upper word alone decides unless it equals the threshold's.
#include "exec/cuda/kernels/dropout.h"

#include <algorithm>
#include "base/rng.h"

#include "exec/cuda/kernels/row_pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kBatch = 2, kMostRows = 256;
constexpr i64 kBlockPacks = 2048;  // about
// mix(): h ^ (index + kAdd), times kFirst; h ^ h >> 27, times kSecond; h ^ h >> 31.
constexpr u64 kAdd = 0x9E3779B97F4A7C15ull, kFirst = 0xBF58476D1CE4E5B9ull, kSecond = 0x94D049BB133111EBull;
static_assert(u32(kAdd) < u32(1) << 31);

struct DropoutArgs {
  DropoutLaunch l;
  const void* x;
  const i64* rows;
  void* y;
  int each;  // rows a block
};

__device__ inline u64 row_hash(const DropoutArgs& a, i64 row) {
  const DropoutLaunch& l = a.l;
  i64 batch = row;
  for (int d = l.dims - 2; d > l.batch; --d) batch /= l.index[d].n;
  u64 h = mix(l.seed, u64(a.rows[batch % l.index[l.batch].n]));
  i64 stride = l.outer;
  for (int d = 0; d + 1 < l.dims; ++d) {
    stride /= l.index[d].n;
    if (d != l.batch) h = mix(h, u64(l.index[d][row / stride % l.index[d].n]));
  }
  return h;
}

// The upper word of mix(h, index).
__device__ inline u32 upper_mix(u64 h, u32 index) {
  const u32 low = u32(h) ^ (index + u32(kAdd)), high = u32(h >> 32) ^ u32(kAdd >> 32);
  u64 x = u64(low) * u32(kFirst) + (u64(high * u32(kFirst)) << 32);
  x += u64(low * u32(kFirst >> 32)) << 32;
  x ^= x >> 27;
  const u32 upper = u32((x * kSecond) >> 32);
  return upper ^ upper >> 31;
}

template <class T, int N>
__device__ inline Pack<T, N> drop(const DropoutArgs& a, u64 h, i64 index, const Pack<T, N>& x) {
  const u32 limit = u32(a.l.below << 11 >> 32);
  Pack<T, N> y;
  bool undecided = false;
#pragma unroll
  for (int e = 0; e < N; ++e) {
    const u32 upper = upper_mix(h, u32(index) + e);
    undecided |= upper == limit;
    y.x[e] = upper < limit ? T(0.0f) : narrow<T>(widen(x.x[e]) * a.l.keep);
  }
  if (undecided) {
#pragma unroll
    for (int e = 0; e < N; ++e)
      y.x[e] = mix(h, u64(index + e)) >> 11 < a.l.below ? T(0.0f) : narrow<T>(widen(x.x[e]) * a.l.keep);
  }
  return y;
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) dropout_kernel(const __grid_constant__ DropoutArgs a) {
  __shared__ u64 hashes[kMostRows];
  const i64 first = i64(blockIdx.x) * a.each;
  const int rows = int(min(i64(a.each), a.l.outer - first));
  if (threadIdx.x < rows) hashes[threadIdx.x] = row_hash(a, first + threadIdx.x);
  __syncthreads();
  using P = Pack<T, N>;
  const P* x = reinterpret_cast<const P*>(static_cast<const T*>(a.x) + first * a.l.inner);
  P* y = reinterpret_cast<P*>(static_cast<T*>(a.y) + first * a.l.inner);
  const Indices& columns = a.l.index[a.l.dims - 1];
  const u32 packs = u32(a.l.inner / N), n = u32(rows) * packs;
  for (u32 i = threadIdx.x; i < n; i += kBatch * kThreads) {
    P batch[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (i + k * kThreads < n) batch[k] = x[i + k * kThreads];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const u32 j = i + k * kThreads, row = j / packs;
      if (j < n) y[j] = drop(a, hashes[row], columns[i64(j - row * packs) * N], batch[k]);
    }
  }
}

template <class T, int N>
void launch_sized(DropoutArgs a, cudaStream_t stream) {
  a.each = int(std::clamp<i64>(kBlockPacks / (a.l.inner / N), 1, kMostRows));
  dropout_kernel<T, N><<<blocks_for(a.l.outer, a.each), kThreads, 0, stream>>>(a);
}

}  // namespace

void launch(const DropoutLaunch& l, const void* x, const i64* rows, void* y, cudaStream_t stream) {
  if (l.outer * l.inner == 0) return;
  const DropoutArgs a{l, x, rows, y, 1};
  dispatch_activation(l.x, [&]<class T>() {
    if (l.packs)
      launch_sized<T, Vec<T>::kSize>(a, stream);
    else
      launch_sized<T, 1>(a, stream);
  });
  check_launch("[dropout] launch");
}

}  // namespace megalith::cuda
