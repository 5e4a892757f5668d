// dq of attention_grad.cu: a block has a tile of queries and loops over the keys that they see.
#pragma once
#include "exec/cuda/kernels/attention/attention_grad.cuh"
#include "exec/cuda/kernels/attention/attention_grad_distances.cuh"

namespace megalith::cuda::gradient {

template <class T, int D>
constexpr i64 dq_bytes(int stages, bool relative) {
  constexpr int kWarps = kQueryWarps<T, D>, kN = kWalked<T>;
  return (2 * 16 * kWarps + 2 * stages * kN) * i64(kRow<T, D>) * i64(sizeof(T)) + kWarps * kStashBytes<T, kN> +
         (relative ? kWarps * DistanceSums::kStashBytes : 0);
}

// kRelative: with relative positions. It then also computes the gradients of their biases.
template <class T, int D, bool kRelative>
struct QueryGrad {
  static constexpr int kN = kWalked<T>, kM = 16 * kQueryWarps<T, D>, kW = kChunk<D>;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const Workspace& w;
  Head head;
  AttentionTile tile;
  int chunk;
  T *queries, *keys;  // shared: q and do [2, kM, D]; k and v [stages, 2, kN, D]
  float *stash, *diagonals;

  // Only the blocks of chunk 0 sum: those of other chunks see the same scores. Each warp has its own sums.
  __device__ bool sums_distances() const { return kRelative && chunk == 0; }
  __device__ DistanceSums distance_sums() const {
    const i64 row = (i64(head.b) * z.g + head.g) * z.r + head.r;
    const int strip = int(gridDim.x - 1 - blockIdx.x) / chunks(z) * kQueryWarps<T, D> + warp_id();
    return {diagonals, x.bias_grads + (row * x.strips + strip) * (2 * z.reach + 1) + z.reach, z.reach};
  }
  static __device__ int chunks(const AttentionSizes& z) { return (z.d + kW - 1) / kW; }

  __device__ void load_queries() const {
    const i64 from = query_row(z, head, tile.local) * z.d, out = output_row(z, head, tile.local) * z.d;
    load_tile<D, kM>(queries, static_cast<const T*>(x.q) + from, query_stride(z), tile.count, z.d);
    load_tile<D, kM>(queries + kM * kRow<T, D>, static_cast<const T*>(x.dout) + out, output_stride(z), tile.count, z.d);
  }
  __device__ void load_keys(const KeyTiles<kN>& at, int stage) const {
    T* to = keys + stage * 2 * kN * kRow<T, D>;
    const i64 from = key_row(z, head, at.local()) * z.d;
    load_tile<D, kN>(to, static_cast<const T*>(x.k) + from, key_stride(z), at.count(), z.d);
    load_tile<D, kN>(to + kN * kRow<T, D>, static_cast<const T*>(x.v) + from, key_stride(z), at.count(), z.d);
  }
  __device__ QueryStats lane_stats(int i) const {
    const int row = warp_id() * 16 + row_of(2 * i);
    return row < tile.count ? stats_of(z, w, head)[tile.local + row] : QueryStats{INFINITY, 0};
  }

  // Replaces c, q k^T, by dS. d: do v^T.
  __device__ void dscores(const LaneQueries& q, const QueryStats (&stats)[2], const KeyTiles<kN>& at, bool masked,
                          Sums<kN>& c, Sums<kN>& d) const {
    const int first = at.first;
    to_scores<kRelative>(
        z, head, x.bias, c, [&](int j, int e) { return first + column_of(j, e); },
        [&](int, int e) { return q.position[e / 2]; });
    if (masked) hide(q, at, c);
    if (z.dropout) {
#pragma unroll
      for (int j = 0; j < kN / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) d[j][e] *= keep_factor(z, q.hash[e / 2], first + column_of(j, e));
    }
#pragma unroll
    for (int j = 0; j < kN / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) c[j][e] = exp2_fast(c[j][e] - stats[e / 2].x) * (d[j][e] - stats[e / 2].y);
  }

  __device__ void operator()() const {
    const int end = end_of_keys(z, x.lengths, head.b);
    const LaneQueries q = lane_queries(z, tile, head, x.rows, x.starts, end);
    const Span lows = first_keys(z, tile, span_of_starts(z, tile, head.b, x.starts));
    const QueryStats stats[2] = {lane_stats(0), lane_stats(1)};
    KeyTiles<kN> at(z.keys, lows.low, last_key(z, tile.position + tile.count - 1, end));
    Sums<kW> dq = {};
    DistanceSums distances = distance_sums();
    int stage = 0;
    load_queries();
    if (!at.done()) load_keys(at, 0);
    while (!at.done()) {
      wait_for_copies();
      __syncthreads();
      if (const KeyTiles<kN> after = at.after(); z.stages == 2 && !after.done()) load_keys(after, 1 - stage);
      const T *k = keys + stage * 2 * kN * kRow<T, D>, *mine = queries + warp_id() * 16 * kRow<T, D>;
      Sums<kN> c, d;
      product_of_rows<D, kN>(c, mine, k);
      product_of_rows<D, kN>(d, mine + kM * kRow<T, D>, k + kN * kRow<T, D>);
      dscores(q, stats, at, has_hidden(at, lows, last_key(z, tile.position, end)), c, d);
      if (sums_distances()) distances.add<kN>(c, at.first - tile.position - 16 * warp_id());
      add_product<D, kW, kN>(dq, c, k + chunk * kW, stash);
      at.next();
      if (z.stages == 2) {
        stage = 1 - stage;
      } else if (!at.done()) {
        __syncthreads();
        load_keys(at, 0);
      }
    }
    wait_for_copies();
    if (sums_distances()) distances.finish();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp_id() * 16 + row_of(2 * i);
      if (row < tile.count) store_grad<T>(z, x.dq, query_row(z, head, tile.local + row), chunk, dq, i, z.scale);
    }
  }
};

template <class T, int D, bool kRelative>
__global__ void __launch_bounds__(32 * kQueryWarps<T, D>, kBlocks<D>)
    query_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                      const __grid_constant__ Workspace w) {
  extern __shared__ __align__(16) unsigned char memory[];
  using A = QueryGrad<T, D, kRelative>;
  const int chunks = A::chunks(z), block = int(gridDim.x - 1 - blockIdx.x);
  T* queries = reinterpret_cast<T*>(memory);
  T* keys = queries + 2 * A::kM * kRow<T, D>;
  float* stash = reinterpret_cast<float*>(keys + z.stages * 2 * A::kN * kRow<T, D>);
  float* diagonals = stash + kQueryWarps<T, D> * kStashBytes<T, A::kN> / 4;
  A{z,
    x,
    w,
    Head{int(blockIdx.z), int(blockIdx.y) / z.r, int(blockIdx.y) % z.r},
    tile_at(z.positions, block / chunks, A::kM),
    block % chunks,
    queries,
    keys,
    stash + warp_id() * kStashBytes<T, A::kN> / 4,
    diagonals + warp_id() * DistanceSums::kStashBytes / 4}();
}

}  // namespace megalith::cuda::gradient
