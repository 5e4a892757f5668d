// What the two kernels of attention_grad.cu share: sizes of tiles, what is known of each query, how rows are stored.
#pragma once
#include "exec/cuda/kernels/attention/attention.h"
#include "exec/cuda/kernels/attention/attention_tile.cuh"
#include "exec/cuda/kernels/attention/attention_view.cuh"

namespace megalith::cuda::gradient {

template <class T, int D>
constexpr int kQueryWarps = std::is_same_v<T, float> || D <= 64 ? 4 : 8;  // of a block of dq
constexpr int kKeyWarps = 4;                                              // of a block of dk and dv
template <int D>
constexpr int kBlocks = D <= 64 ? 3 : 1;  // on a multiprocessor, at least
template <class T>
constexpr int kWalked = walked(std::is_same_v<T, float>);  // keys, or queries, of a tile that is walked over
template <int D>
constexpr int kChunk = D < 128 ? D : 128;

// What the backward needs of a query: lse * log2(e) (infinite where it saw no key: probability 0) and D.
using QueryStats = float2;
static_assert(sizeof(QueryStats) == sizeof(QueryNumbers));

struct Workspace {
  QueryStats* stats;  // [b, g, r, s]
  Span* starts;       // [b, tiles of kWalked queries], of their documents
};

__device__ inline const QueryStats* stats_of(const AttentionSizes& z, const Workspace& w, const Head& h) {
  return w.stats + ((i64(h.b) * z.g + h.g) * z.r + h.r) * z.s;
}

// One of the warp's rows (the lane's i-th), times k, to a row of a gradient: columns from chunk * W on.
template <class T, int W>
__device__ void store_grad(const AttentionSizes& z, void* to, i64 row, int chunk, const float (&c)[W][4], int i,
                           float k) {
  constexpr int kW = 8 * W;
  if (z.wide)
    store_row<kW>(static_cast<float*>(to) + row * z.d, chunk * kW, z.d, c, i, k);
  else
    store_row<kW>(static_cast<T*>(to) + row * z.d, chunk * kW, z.d, c, i, k);
}

}  // namespace megalith::cuda::gradient
