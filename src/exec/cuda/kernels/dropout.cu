// An element's hash is mix() of its row's hash and of its index in the last dim. A row is given by all dims but the
// last. A block computes its rows' hashes first; each thread then has one pack of columns. Hashing costs as much as
// memory, so the last mix is written in 32-bit words. Indices are below 2^31, and so is the low word of mix()'s
// constant. Their sum never carries, so the high word is the row's.
#include "exec/cuda/kernels/dropout.h"

#include <algorithm>
#include "base/rng.h"

#include "exec/cuda/kernels/pack.cuh"

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
  u32 each;   // rows a block
  u32 along;  // threads for the packs of a row
};

__device__ inline u64 row_hash(const DropoutArgs& a, u32 row) {
  const DropoutLaunch& l = a.l;
  u32 batch = row, stride = u32(l.outer);
  for (int d = l.dims - 2; d > l.batch; --d) batch /= u32(l.index[d].n);
  u64 h = mix(l.seed, u64(a.rows[batch % u32(l.index[l.batch].n)]));
  for (int d = 0; d + 1 < l.dims; ++d) {
    stride /= u32(l.index[d].n);
    if (d != l.batch) h = mix(h, u64(l.index[d][row / stride % u32(l.index[d].n)]));
  }
  return h;
}

// mix(h, index).
__device__ inline u64 last_mix(u64 h, u32 index) {
  const u32 low = u32(h) ^ (index + u32(kAdd)), high = u32(h >> 32) ^ u32(kAdd >> 32);
  const u64 product = u64(low) * u32(kFirst) + (u64(high * u32(kFirst)) << 32);
  u64 x = u64(u32(product >> 32) + low * u32(kFirst >> 32)) << 32 | u32(product);
  x = (x ^ x >> 27) * kSecond;
  return x ^ x >> 31;
}

template <class T, int N>
__device__ inline Pack<T, N> drop(u64 h, u32 index, u64 limit, float keep, const Pack<T, N>& x) {
  float y[N];
  unpack(x, y);
#pragma unroll
  for (int e = 0; e < N; ++e) y[e] = last_mix(h, index + e) < limit ? 0 : y[e] * keep;
  return packed<T>(y);
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads, 6) dropout_kernel(const __grid_constant__ DropoutArgs a) {
  __shared__ u64 hashes[kMostRows];
  const u32 first = blockIdx.x * a.each, rows = min(a.each, u32(a.l.outer) - first);
  if (threadIdx.x < rows) hashes[threadIdx.x] = row_hash(a, first + threadIdx.x);
  __syncthreads();
  const i64 column = (i64(blockIdx.y) * a.along + threadIdx.x % a.along) * N;
  if (column >= a.l.inner) return;
  const u32 index = u32(a.l.index[a.l.dims - 1][column]);
  const u64 limit = a.l.below << 11;  // hash >> 11 < below
  const u32 step = kThreads / a.along;
  const T* x = static_cast<const T*>(a.x) + first * a.l.inner + column;
  T* y = static_cast<T*>(a.y) + first * a.l.inner + column;
  for (u32 row = threadIdx.x / a.along; row < rows; row += kBatch * step) {
    Pack<T, N> batch[kBatch];
#pragma unroll
    for (u32 k = 0; k < kBatch; ++k)
      if (row + k * step < rows) batch[k] = load_pack<N>(x + (row + k * step) * a.l.inner);
#pragma unroll
    for (u32 k = 0; k < kBatch; ++k) {
      const u32 r = row + k * step;
      if (r < rows) put_pack(y + r * a.l.inner, drop(hashes[r], index, limit, a.l.keep, batch[k]));
    }
  }
}

template <class T, int N>
void launch_sized(DropoutArgs a, cudaStream_t stream) {
  const i64 packs = a.l.inner / N;
  for (a.along = 1; a.along < kThreads && a.along < packs;) a.along *= 2;
  a.each = u32(std::clamp<i64>(kBlockPacks / a.along, 1, kMostRows));
  const dim3 grid(unsigned(blocks_for(a.l.outer, a.each)), unsigned(blocks_for(packs, a.along)));
  dropout_kernel<T, N><<<grid, kThreads, 0, stream>>>(a);
}

}  // namespace

void launch(const DropoutLaunch& l, const void* x, const i64* rows, void* y, cudaStream_t stream) {
  if (l.outer * l.inner == 0) return;
  const DropoutArgs a{l, x, rows, y, 1, 1};
  dispatch_activation(l.x, [&]<class T>() {
    if (l.packs)
      launch_sized<T, 16 / sizeof(T)>(a, stream);
    else
      launch_sized<T, 1>(a, stream);
  });
  check_launch("[dropout] launch");
}

}  // namespace megalith::cuda
