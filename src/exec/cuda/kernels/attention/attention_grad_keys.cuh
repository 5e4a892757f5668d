// dk and dv of attention_grad.cu: a block has a tile of keys and loops over the queries, of all the group's heads,
// that see them.
#pragma once
#include "exec/cuda/kernels/attention/attention_grad.cuh"

namespace megalith::cuda::gradient {

// The values of a query in a block of dk and dv, in shared memory.
template <int N>
struct WalkedQueries {
  QueryStats stats[N];
  u64 hash[N];
  int start[N];
};

template <class T, int D>
constexpr i64 dkv_bytes(int stages) {
  constexpr int kN = kWalked<T>;
  return (2 * 16 * kKeyWarps + 2 * stages * kN) * i64(kRow<T, D>) * i64(sizeof(T)) +
         stages * i64(sizeof(WalkedQueries<kN>)) + kKeyWarps * kStashBytes<T, kN>;
}

template <class T, int D, bool kRelative>
struct KeyGrad {
  static constexpr int kN = kWalked<T>, kM = 16 * kKeyWarps, kW = kChunk<D>;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const Workspace& w;
  int b, g, first, chunk;  // first: position of the block's first key
  int tiles;               // of queries, of one head
  int end;                 // of the sequence's keys
  T *keys, *queries;       // shared: k and v [2, kM, D]; q and do [stages, 2, kN, D]
  WalkedQueries<kN>* walked;
  float* stash;

  // The block's keys. They are computed again at the end, because registers are few.
  static __device__ AttentionTile own_keys(const AttentionSizes& z) {
    const int chunks = (z.d + kW - 1) / kW;
    return tile_at(z.keys, int(blockIdx.x) / chunks, kM);
  }
  __device__ Head head(int item) const { return {b, g, item / tiles}; }
  __device__ Span starts_of(int item) const { return x.starts ? w.starts[b * tiles + item % tiles] : Span{0, 0}; }

  // The next item (a tile of queries of one of the group's heads) that sees any of the keys.
  __device__ int next(int item) const {
    while (++item < tiles * z.r) {
      const AttentionTile tile = tile_at(z.positions, item % tiles, kN);
      if (last_key(z, tile.position + tile.count - 1, end) >= first &&
          first_keys(z, tile, starts_of(item)).low < first + kM)
        break;
    }
    return item;
  }

  __device__ void load_keys() const {
    const AttentionTile mine = own_keys(z);
    const i64 from = key_row(z, Head{b, g, 0}, mine.local) * z.d;
    load_tile<D, kM>(keys, static_cast<const T*>(x.k) + from, key_stride(z), mine.count, z.d);
    load_tile<D, kM>(keys + kM * kRow<T, D>, static_cast<const T*>(x.v) + from, key_stride(z), mine.count, z.d);
  }
  __device__ void load_queries(int item, int stage) const {
    T* to = queries + stage * 2 * kN * kRow<T, D>;
    const Head h = head(item);
    const AttentionTile tile = tile_at(z.positions, item % tiles, kN);
    const i64 from = query_row(z, h, tile.local) * z.d, out = output_row(z, h, tile.local) * z.d;
    load_tile<D, kN>(to, static_cast<const T*>(x.q) + from, query_stride(z), tile.count, z.d);
    load_tile<D, kN>(to + kN * kRow<T, D>, static_cast<const T*>(x.dout) + out, output_stride(z), tile.count, z.d);
    const int i = threadIdx.x;
    if (i >= kN) return;
    WalkedQueries<kN>& to_walked = walked[stage];
    if (i < tile.count) {
      copy_ahead<8>(&to_walked.stats[i], stats_of(z, w, h) + tile.local + i, true);
      if (x.starts) copy_ahead<4>(&to_walked.start[i], x.starts + i64(tile.local + i) * z.b + b, true);
    } else {
      to_walked.stats[i] = {INFINITY, 0};
    }
    if (!x.starts || i >= tile.count) to_walked.start[i] = 0;
    if (z.dropout) to_walked.hash[i] = mix(head_hash(z, h, x.rows), u64(tile.position + i));
  }

  // Replaces p, k q^T, by P' (transposed), and d, v do^T, by dS.
  __device__ void dscores(int item, const WalkedQueries<kN>& q, Sums<kN>& p, Sums<kN>& d) const {
    const AttentionTile tile = tile_at(z.positions, item % tiles, kN);
    const Span lows = first_keys(z, tile, starts_of(item));
    const bool masked = first < lows.high || first + kM - 1 > last_key(z, tile.position, end);
    const int mine =
        first + warp_id() * 16 - tile.position;  // the warp's first key, relative to the tile's first query
    const auto key = [&](int, int e) { return first + warp_id() * 16 + row_of(e); };
    const auto query = [&](int j, int e) { return tile.position + column_of(j, e); };
    to_scores<kRelative>(z, head(item), x.bias, p, key, query);
    if (masked) hide(q, mine, tile.position, p);
#pragma unroll
    for (int j = 0; j < kN / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const QueryStats stats = q.stats[column_of(j, e)];
        p[j][e] = exp2_fast(p[j][e] - stats.x);
        const float keep = z.dropout ? keep_factor(z, q.hash[column_of(j, e)], first + warp_id() * 16 + row_of(e)) : 1;
        d[j][e] = p[j][e] * (d[j][e] * keep - stats.y);
        p[j][e] *= keep;
      }
  }
  __device__ void hide(const WalkedQueries<kN>& q, int mine, int position, Sums<kN>& p) const {
#pragma unroll
    for (int j = 0; j < kN / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = column_of(j, e), ahead = mine + row_of(e) - column;  // relative to the query, in positions
        const int key = mine + row_of(e) + position;
        if ((z.causal && ahead > 0) || (z.window > 0 && ahead <= -z.window) || key < q.start[column] || key >= end)
          p[j][e] = -INFINITY;
      }
  }

  __device__ void operator()() const {
    Sums<kW> dk = {}, dv = {};
    int item = next(-1), stage = 0;
    load_keys();
    if (item < tiles * z.r) load_queries(item, 0);
    while (item < tiles * z.r) {
      const int after = next(item);
      wait_for_copies();
      __syncthreads();
      if (z.stages == 2 && after < tiles * z.r) load_queries(after, 1 - stage);
      const T *q = queries + stage * 2 * kN * kRow<T, D>, *k = keys + warp_id() * 16 * kRow<T, D>;
      Sums<kN> p, d;
      product_of_rows<D, kN>(p, k, q);
      product_of_rows<D, kN>(d, k + kM * kRow<T, D>, q + kN * kRow<T, D>);
      dscores(item, walked[stage], p, d);
      add_product<D, kW, kN>(dv, p, q + kN * kRow<T, D> + chunk * kW, stash);
      add_product<D, kW, kN>(dk, d, q + chunk * kW, stash);
      if (z.stages == 2) {
        stage = 1 - stage;
      } else if (after < tiles * z.r) {
        __syncthreads();
        load_queries(after, 0);
      }
      item = after;
    }
    wait_for_copies();
    const AttentionTile mine = own_keys(z);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp_id() * 16 + row_of(2 * i);
      if (row >= mine.count) continue;
      const i64 to = key_row(z, Head{b, g, 0}, mine.local + row);
      store_grad<T>(z, x.dk, to, chunk, dk, i, z.scale);
      store_grad<T>(z, x.dv, to, chunk, dv, i, 1);
    }
  }
};

template <class T, int D, bool kRelative>
__global__ void __launch_bounds__(32 * kKeyWarps, kBlocks<D>)
    key_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                    const __grid_constant__ Workspace w, int tiles) {
  extern __shared__ __align__(16) unsigned char memory[];
  using A = KeyGrad<T, D, kRelative>;
  const int chunks = (z.d + A::kW - 1) / A::kW, block = int(blockIdx.x);
  T* keys = reinterpret_cast<T*>(memory);
  T* queries = keys + 2 * A::kM * kRow<T, D>;
  auto* walked = reinterpret_cast<WalkedQueries<A::kN>*>(queries + z.stages * 2 * A::kN * kRow<T, D>);
  float* stash = reinterpret_cast<float*>(walked + z.stages) + warp_id() * kStashBytes<T, A::kN> / 4;
  const int first = A::own_keys(z).position, end = end_of_keys(z, x.lengths, int(blockIdx.z));
  A{z, x, w, int(blockIdx.z), int(blockIdx.y), first, block % chunks, tiles, end, keys, queries, walked, stash}();
}

}  // namespace megalith::cuda::gradient
