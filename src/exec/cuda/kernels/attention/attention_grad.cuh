// Shared parts of the two kernels of attention_grad.cu: sizes of tiles, values of each query, stores of rows.
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
constexpr int kWalked = walked(std::is_same_v<T, float>);  // keys, or queries, in a tile of the loop
template <int D>
constexpr int kChunk = D < 128 ? D : 128;

// The inputs of the backward for a query: lse * log2(e) and D. A query that saw no key has an infinite lse, so its
// probabilities are 0.
using QueryStats = float2;
static_assert(sizeof(QueryStats) == sizeof(QueryNumbers));

struct Workspace {
  QueryStats* stats;  // [b, g, r, s]
  Span* starts;       // [b, tiles of kWalked queries]: range of their documents' starts
};

__device__ inline const QueryStats* stats_of(const AttentionSizes& z, const Workspace& w, const Head& h) {
  return w.stats + ((i64(h.b) * z.g + h.g) * z.r + h.r) * z.s;
}

// Stores one of the warp's rows (the lane's i-th), times k, to a row of a gradient: columns from chunk * W on.
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
