// The lookup copies rows. The gradient sorts the tokens by id, keeping their order (a radix sort), and gives each id's
// run of tokens to as many warps as its row has pieces: each adds its piece of the rows of dy in order, so the sums are
// the same bits every time. If nothing is to be kept, other warps of the same launch zero the rows that have no token,
// so that the table is written once.
#include "exec/cuda/kernels/embedding.h"

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "exec/cuda/kernels/row_pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// Row of the table of an id; `rows` for an id that is not here.
__device__ inline u32 row_of(const EmbeddingShape& s, i32 id) {
  const i64 row = id - s.first;
  return u32(row >= 0 && row < s.rows ? row : s.rows);
}

// blockDim.x threads go along a row of `width` U, blockDim.y rows.
template <class U>
__global__ void __launch_bounds__(kThreads) lookup_kernel(EmbeddingShape s, const i32* ids, const U* table, U* y) {
  const i64 token = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= s.tokens) return;
  const u32 row = row_of(s, ids[token]);
  const U* from = table + row * s.width;
  U* to = y + token * s.width;
  if (row == s.rows) {
    for (i64 i = threadIdx.x; i < s.width; i += blockDim.x) to[i] = U{};
  } else {
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.width; i += blockDim.x) to[i] = __ldg(from + i);
  }
}

template <class U>
void launch_lookup(EmbeddingShape s, i64 bytes, const i32* ids, const void* table, void* y, cudaStream_t stream) {
  s.width = bytes / i64(sizeof(U));
  unsigned along = 1;
  while (along < 128 && along < s.width) along *= 2;
  const dim3 block(along, kThreads / along);
  lookup_kernel<<<blocks_for(s.tokens, block.y), block, 0, stream>>>(s, ids, static_cast<const U*>(table),
                                                                     static_cast<U*>(y));
}

struct Lists {
  u32 *rows_in, *rows, *tokens_in, *tokens;  // rows of the table and their tokens, as they come and sorted by row
  u8* used;                                  // by row: whether it has a token
  void* sort;
};

constexpr i64 aligned(i64 bytes) { return (bytes + 255) / 256 * 256; }
Lists lists_of(const EmbeddingShape& s, void* workspace) {
  std::byte* at = static_cast<std::byte*>(workspace);
  const auto take = [&](i64 bytes) { return std::exchange(at, at + aligned(bytes)); };
  const auto list = [&] { return reinterpret_cast<u32*>(take(s.tokens * 4)); };
  Lists l{list(), list(), list(), list(), nullptr, nullptr};
  l.used = reinterpret_cast<u8*>(take(s.rows)), l.sort = at;
  return l;
}

__global__ void __launch_bounds__(kThreads) list_kernel(EmbeddingShape s, const i32* ids, Lists l, bool mark) {
  const i64 token = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= s.tokens) return;
  const u32 row = row_of(s, ids[token]);
  l.rows_in[token] = row, l.tokens_in[token] = u32(token);
  if (mark && row < s.rows) l.used[row] = 1;
}

struct SumArgs {
  EmbeddingShape s;
  Lists l;
  const void* dy;
  void* table;
  bool add;
  int pieces;      // of a row: 32 packs of N
  i64 sum_blocks;  // the first ones
};

// The tokens sorted[begin ..] of one row: adds this lane's N columns from `column` on.
template <class X, int N>
__device__ inline void add_tokens(const SumArgs& a, i64 begin, u32 row, i64 column, float (&sum)[N]) {
  constexpr int kBatch = 8;
  const int lane = threadIdx.x % 32;
  const bool has = column < a.s.width;
  const X* dy = static_cast<const X*>(a.dy) + (has ? column : 0);
  for (int n = 32; n == 32; begin += 32) {
    const i64 at = begin + lane;
    const bool mine = at < a.s.tokens && a.l.rows[at] == row;
    const u32 token = mine ? a.l.tokens[at] : 0;
    n = __popc(__ballot_sync(0xffffffffu, mine));
    for (int i = 0; i < n; i += kBatch) {
      Pack<X, N> x[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const i64 t = __shfl_sync(0xffffffffu, token, (i + k) % 32);
        if (i + k < n) x[k] = *reinterpret_cast<const Pack<X, N>*>(dy + t * a.s.width);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
#pragma unroll
        for (int e = 0; e < N; ++e)
          if (i + k < n) sum[e] += widen(x[k].x[e]);
    }
  }
}

template <class X, class Y, int N>
__device__ inline void sum_piece(const SumArgs& a, i64 warp) {
  const i64 begin = warp / a.pieces, column = (warp % a.pieces * 32 + threadIdx.x % 32) * N;
  if (begin >= a.s.tokens) return;
  const u32 row = a.l.rows[begin];
  if (row == a.s.rows || (begin > 0 && a.l.rows[begin - 1] == row)) return;  // not here; not the first of its run
  float sum[N] = {};
  add_tokens<X>(a, begin, row, column, sum);
  if (column >= a.s.width) return;
  Pack<Y, N>* to = reinterpret_cast<Pack<Y, N>*>(static_cast<Y*>(a.table) + row * a.s.width + column);
  Pack<Y, N> y;
  if (a.add) y = *to;
#pragma unroll
  for (int e = 0; e < N; ++e) y.x[e] = narrow<Y>(a.add ? widen(y.x[e]) + sum[e] : sum[e]);
  *to = y;
}

template <class Y, int N>
__device__ inline void zero_row(const SumArgs& a, i64 row) {
  if (row >= a.s.rows || a.l.used[row]) return;
  Y* to = static_cast<Y*>(a.table) + row * a.s.width;
  for (i64 i = threadIdx.x % 32 * N; i < a.s.width; i += 32 * N) {
    Pack<Y, N> zeros;
#pragma unroll
    for (int e = 0; e < N; ++e) zeros.x[e] = Y(0.0f);
    *reinterpret_cast<Pack<Y, N>*>(to + i) = zeros;
  }
}

template <class X, class Y, int N>
__global__ void __launch_bounds__(kThreads) sum_kernel(const SumArgs a) {
  const i64 warp = threadIdx.x / 32;
  if (blockIdx.x < a.sum_blocks)
    sum_piece<X, Y, N>(a, i64(blockIdx.x) * kWarps + warp);
  else
    zero_row<Y, N>(a, (i64(blockIdx.x) - a.sum_blocks) * kWarps + warp);
}

template <class X, class Y, int N>
void launch_sums(SumArgs a, cudaStream_t stream) {
  a.pieces = blocks_for(a.s.width, 32 * N);
  a.sum_blocks = (a.s.tokens * a.pieces + kWarps - 1) / kWarps;
  const i64 blocks = a.sum_blocks + (a.add ? 0 : blocks_for(a.s.rows, kWarps));
  check(blocks < i64{1} << 31, "[embedding_grad] {} tokens of width {}: too large for one launch", a.s.tokens,
        a.s.width);
  if (blocks > 0) sum_kernel<X, Y, N><<<unsigned(blocks), kThreads, 0, stream>>>(a);
}

cudaError_t sort(const EmbeddingShape& s, const Lists& l, size_t& bytes, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(l.sort, bytes, l.rows_in, l.rows, l.tokens_in, l.tokens, s.tokens, 0,
                                         int(std::bit_width(u64(s.rows))), stream);
}

}  // namespace

void launch_embedding(const EmbeddingShape& s, i64 element_bytes, const i32* ids, const void* table, void* y,
                      cudaStream_t stream) {
  const i64 bytes = s.width * element_bytes;
  if (s.tokens * bytes == 0) return;
  if (bytes % 16 == 0)
    launch_lookup<uint4>(s, bytes, ids, table, y, stream);
  else if (bytes % 4 == 0)
    launch_lookup<u32>(s, bytes, ids, table, y, stream);
  else
    launch_lookup<u16>(s, bytes, ids, table, y, stream);
  check_launch("[embedding] launch");
}

EmbeddingGradLaunch plan_embedding_grad(const EmbeddingShape& s, DType dy, DType table) {
  size_t bytes = 0;
  check_cuda(sort(s, {}, bytes, nullptr), "[embedding_grad] planning the sort");
  return {s, dy, table, i64(bytes), 4 * aligned(s.tokens * 4) + aligned(s.rows) + i64(bytes)};
}

void launch(const EmbeddingGradLaunch& l, bool add, const i32* ids, const void* dy, void* table, void* workspace,
            cudaStream_t stream) {
  const EmbeddingShape& s = l.shape;
  const Lists lists = lists_of(s, workspace);
  if (!add && s.rows > 0)
    check_cuda(cudaMemsetAsync(lists.used, 0, size_t(s.rows), stream), "[embedding_grad] no row is used yet");
  if (s.tokens > 0) {
    list_kernel<<<blocks_for(s.tokens, kThreads), kThreads, 0, stream>>>(s, ids, lists, !add);
    check_launch("[embedding_grad] launch");
    size_t bytes = size_t(l.sort_bytes);
    check_cuda(sort(s, lists, bytes, stream), "[embedding_grad] sort");
  }
  const SumArgs args{s, lists, dy, table, add, 0, 0};
  dispatch_activation(l.dy, [&]<class X>() {
    dispatch_activation(l.table, [&]<class Y>() {
      constexpr int kSize = Vec<X>::kSize;
      if (s.width % kSize == 0)
        launch_sums<X, Y, kSize>(args, stream);
      else
        launch_sums<X, Y, 1>(args, stream);
    });
  });
  check_launch("[embedding_grad] launch");
}

}  // namespace megalith::cuda
