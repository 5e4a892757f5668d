// Attention backward of our own, without atomics. Probabilities are computed again from q, k and lse; with
// D = sum_d do * o, and P' the probabilities after dropout,
//   dv = P'^T do    dS = P * (keep * do v^T - D)    dq = scale * dS k    dk = scale * dS^T q
// One kernel has a tile of queries and walks the keys for dq; another has a tile of keys and walks the queries of all
// the group's heads for dk and dv, with scores transposed (a row per key), so that what it sums stays in registers.
// Heads wider than 128 are summed in chunks of 128 columns, by blocks of their own.
#include "exec/cuda/kernels/attention.h"
#include "exec/cuda/kernels/attention_tile.cuh"
#include "exec/cuda/kernels/attention_view.cuh"

namespace megalith::cuda {

namespace {

template <class T, int D>
constexpr int kQueryWarps = std::is_same_v<T, float> || D <= 64 ? 4 : 8;  // of a block of dq
constexpr int kKeyWarps = 4;                                              // of a block of dk and dv
template <int D>
constexpr int kBlocks = D <= 64 ? 3 : 1;  // on a multiprocessor, at least
template <class T>
constexpr int kWalked = std::is_same_v<T, float> ? 32 : 64;  // keys, or queries, of a tile that is walked over
template <int D>
constexpr int kChunk = D < 128 ? D : 128;

// What the backward needs of a query: lse * log2(e) (infinite where it saw no key: probability 0) and D.
using QueryStats = float2;

struct Workspace {
  QueryStats* stats;  // [b, g, r, s]
  Span* starts;       // [b, tiles of kWalked queries], of their documents
};

template <class T>
__global__ void stats_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                             QueryStats* stats) {
  const i64 rows = i64(z.s) * z.b * z.g * z.r, row = i64(blockIdx.x) * (blockDim.x / 32) + warp_id();
  if (row >= rows) return;
  const T *dout = static_cast<const T*>(x.dout) + row * z.d, *o = static_cast<const T*>(x.o) + row * z.d;
  float sum = 0;
  if (z.d % 2 == 0 && sizeof(T) == 2) {
    for (int i = 2 * lane_id(); i < z.d; i += 64) {
      const float2 a = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(dout + i));
      const float2 c = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(o + i));
      sum += a.x * c.x + a.y * c.y;
    }
  } else {
    for (int i = lane_id(); i < z.d; i += 32) sum += float(dout[i]) * float(o[i]);
  }
  sum = warp_sum(sum);
  const i64 heads = i64(z.b) * z.g * z.r, head = row % heads, at = row / heads;
  const float lse = x.lse[row];
  if (lane_id() == 0) stats[head * z.s + at] = {lse == -INFINITY ? INFINITY : lse * kLog2E, sum};
}

__global__ void starts_kernel(const __grid_constant__ AttentionSizes z, const i32* starts, int size, int tiles,
                              Span* to) {
  const int i = blockIdx.x * (blockDim.x / 32) + warp_id();
  if (i >= tiles * z.b) return;
  const Span span = span_of_starts(z, tile_at(z.positions, i % tiles, size), i / tiles, starts);
  if (lane_id() == 0) to[i] = span;
}

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

template <class T, int D>
constexpr i64 dq_bytes(int stages) {
  constexpr int kWarps = kQueryWarps<T, D>, kN = kWalked<T>;
  return (2 * 16 * kWarps + 2 * stages * kN) * i64(kRow<T, D>) * i64(sizeof(T)) + kWarps * kStashBytes<T, kN>;
}

template <class T, int D>
struct QueryGrad {
  static constexpr int kN = kWalked<T>, kM = 16 * kQueryWarps<T, D>, kW = kChunk<D>;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const Workspace& w;
  Head head;
  Tile tile;
  int chunk;
  T *queries, *keys;  // shared: q and do [2, kM, D]; k and v [stages, 2, kN, D]
  float* stash;

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

  // c: q k^T to dS; d: do v^T.
  __device__ void dscores(const LaneQueries& q, const QueryStats (&stats)[2], const KeyTiles<kN>& at, bool masked,
                          Sums<kN>& c, Sums<kN>& d) const {
    const int first = at.first;
    to_scores(z, head, c, [&](int j, int e) { return first + column_of(j, e) - q.position[e / 2]; });
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
    const LaneQueries q = lane_queries(z, tile, head, x.rows, x.starts);
    const Span lows = first_keys(z, tile, span_of_starts(z, tile, head.b, x.starts));
    const QueryStats stats[2] = {lane_stats(0), lane_stats(1)};
    KeyTiles<kN> at(z.keys, lows.low, tile.position + tile.count - 1);
    Sums<kW> dq = {};
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
      dscores(q, stats, at, has_hidden(at, tile, lows), c, d);
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
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp_id() * 16 + row_of(2 * i);
      if (row < tile.count) store_grad<T>(z, x.dq, query_row(z, head, tile.local + row), chunk, dq, i, z.scale);
    }
  }
};

template <class T, int D>
__global__ void __launch_bounds__(32 * kQueryWarps<T, D>, kBlocks<D>)
    query_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                      const __grid_constant__ Workspace w) {
  extern __shared__ __align__(16) unsigned char memory[];
  using A = QueryGrad<T, D>;
  const int chunks = (z.d + A::kW - 1) / A::kW, block = int(gridDim.x - 1 - blockIdx.x);
  T* queries = reinterpret_cast<T*>(memory);
  T* keys = queries + 2 * A::kM * kRow<T, D>;
  float* stash = reinterpret_cast<float*>(keys + z.stages * 2 * A::kN * kRow<T, D>);
  A{z,
    x,
    w,
    Head{int(blockIdx.z), int(blockIdx.y) / z.r, int(blockIdx.y) % z.r},
    tile_at(z.positions, block / chunks, A::kM),
    block % chunks,
    queries,
    keys,
    stash + warp_id() * kStashBytes<T, A::kN> / 4}();
}

// What a block of dk and dv keeps of a walked query, in shared memory.
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

template <class T, int D>
struct KeyGrad {
  static constexpr int kN = kWalked<T>, kM = 16 * kKeyWarps, kW = kChunk<D>;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const Workspace& w;
  int b, g, first, chunk;  // first: position of the block's first key
  int tiles;               // of queries, of one head
  T *keys, *queries;       // shared: k and v [2, kM, D]; q and do [stages, 2, kN, D]
  WalkedQueries<kN>* walked;
  float* stash;

  // The block's keys; looked up again at the end, since registers are few.
  static __device__ Tile own_keys(const AttentionSizes& z) {
    const int chunks = (z.d + kW - 1) / kW;
    return tile_at(z.keys, int(blockIdx.x) / chunks, kM);
  }
  __device__ Head head(int item) const { return {b, g, item / tiles}; }
  __device__ Span starts_of(int item) const { return x.starts ? w.starts[b * tiles + item % tiles] : Span{0, 0}; }

  // The next item (query tile of one of the group's heads) that sees any of the keys.
  __device__ int next(int item) const {
    while (++item < tiles * z.r) {
      const Tile tile = tile_at(z.positions, item % tiles, kN);
      if (tile.position + tile.count - 1 >= first && first_keys(z, tile, starts_of(item)).low < first + kM) break;
    }
    return item;
  }

  __device__ void load_keys() const {
    const Tile mine = own_keys(z);
    const i64 from = key_row(z, Head{b, g, 0}, mine.local) * z.d;
    load_tile<D, kM>(keys, static_cast<const T*>(x.k) + from, key_stride(z), mine.count, z.d);
    load_tile<D, kM>(keys + kM * kRow<T, D>, static_cast<const T*>(x.v) + from, key_stride(z), mine.count, z.d);
  }
  __device__ void load_queries(int item, int stage) const {
    T* to = queries + stage * 2 * kN * kRow<T, D>;
    const Head h = head(item);
    const Tile tile = tile_at(z.positions, item % tiles, kN);
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

  // p: k q^T to P' (transposed); d: v do^T to dS.
  __device__ void dscores(int item, const WalkedQueries<kN>& q, Sums<kN>& p, Sums<kN>& d) const {
    const Tile tile = tile_at(z.positions, item % tiles, kN);
    const Span lows = first_keys(z, tile, starts_of(item));
    const bool masked = first < lows.high || first + kM - 1 > tile.position;
    const int mine = first + warp_id() * 16 - tile.position;  // the warp's first key, seen from the tile's first query
    const auto ahead = [&](int j, int e) { return mine + row_of(e) - column_of(j, e); };
    to_scores(z, head(item), p, ahead);
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
        const int column = column_of(j, e), ahead = mine + row_of(e) - column;  // of the query, in positions
        if (ahead > 0 || (z.window > 0 && ahead <= -z.window) || mine + row_of(e) + position < q.start[column])
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
    const Tile mine = own_keys(z);
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

template <class T, int D>
__global__ void __launch_bounds__(32 * kKeyWarps, kBlocks<D>)
    key_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                    const __grid_constant__ Workspace w, int tiles) {
  extern __shared__ __align__(16) unsigned char memory[];
  using A = KeyGrad<T, D>;
  const int chunks = (z.d + A::kW - 1) / A::kW, block = int(blockIdx.x);
  T* keys = reinterpret_cast<T*>(memory);
  T* queries = keys + 2 * A::kM * kRow<T, D>;
  auto* walked = reinterpret_cast<WalkedQueries<A::kN>*>(queries + z.stages * 2 * A::kN * kRow<T, D>);
  float* stash = reinterpret_cast<float*>(walked + z.stages) + warp_id() * kStashBytes<T, A::kN> / 4;
  const int first = A::own_keys(z).position;
  A{z, x, w, int(blockIdx.z), int(blockIdx.y), first, block % chunks, tiles, keys, queries, walked, stash}();
}

template <class F>
void with_kernel(const AttentionSizes& z, F&& f) {
  const auto sized = [&]<class T>() {
    if (z.d <= 64) return f.template operator()<T, 64>();
    if (z.d <= 128) return f.template operator()<T, 128>();
    return f.template operator()<T, 256>();
  };
  z.dtype == DType::f32 ? sized.template operator()<float>() : sized.template operator()<bfloat>();
}

i64 stats_bytes(const AttentionSizes& z) {
  return (i64(z.s) * z.b * z.g * z.r * i64(sizeof(QueryStats)) + 255) / 256 * 256;
}

template <class T>
void prepare_stats(const AttentionSizes& z, const AttentionGradBuffers& x, const Workspace& w, cudaStream_t stream) {
  constexpr int kWarps = 8;
  const i64 rows = i64(z.s) * z.b * z.g * z.r;
  stats_kernel<T><<<blocks_for(rows, kWarps), 32 * kWarps, 0, stream>>>(z, x, w.stats);
  if (!x.starts) return;
  const int tiles = tiles_of(z.positions, kWalked<T>);
  starts_kernel<<<blocks_for(i64(tiles) * z.b, kWarps), 32 * kWarps, 0, stream>>>(z, x.starts, kWalked<T>, tiles,
                                                                                  w.starts);
}

void allow_shared(const void* kernel, i64 bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
             "[attention_grad] shared memory");
}

template <class T, int D>
void launch_grads(const AttentionSizes& z, const AttentionGradBuffers& x, const Workspace& w, cudaStream_t stream) {
  const int chunks = (z.d + kChunk<D> - 1) / kChunk<D>;
  const i64 dq = dq_bytes<T, D>(z.stages), dkv = dkv_bytes<T, D>(z.stages);
  allow_shared(reinterpret_cast<const void*>(query_grad_kernel<T, D>), dq);
  allow_shared(reinterpret_cast<const void*>(key_grad_kernel<T, D>), dkv);
  const dim3 queries(unsigned(tiles_of(z.positions, 16 * kQueryWarps<T, D>) * chunks), unsigned(z.g * z.r),
                     unsigned(z.b));
  query_grad_kernel<T, D><<<queries, 32 * kQueryWarps<T, D>, size_t(dq), stream>>>(z, x, w);
  const dim3 keys(unsigned(tiles_of(z.keys, 16 * kKeyWarps) * chunks), unsigned(z.g), unsigned(z.b));
  key_grad_kernel<T, D><<<keys, 32 * kKeyWarps, size_t(dkv), stream>>>(z, x, w, tiles_of(z.positions, kWalked<T>));
}

}  // namespace

i64 attention_grad_shared_bytes(const AttentionSizes& z) {
  i64 bytes = 0;
  with_kernel(z, [&]<class T, int D>() { bytes = std::max(dq_bytes<T, D>(z.stages), dkv_bytes<T, D>(z.stages)); });
  return bytes;
}

i64 attention_grad_workspace(const AttentionSizes& z) {
  const int size = z.dtype == DType::f32 ? kWalked<float> : kWalked<bfloat>;
  return stats_bytes(z) + i64(tiles_of(z.positions, size)) * z.b * i64(sizeof(Span));
}

void launch(const AttentionSizes& z, const AttentionGradBuffers& x, cudaStream_t stream) {
  if (z.t == 0 || z.b == 0 || z.g == 0) return;
  const Workspace w{reinterpret_cast<QueryStats*>(x.workspace), reinterpret_cast<Span*>(x.workspace + stats_bytes(z))};
  check(z.s > 0 && z.r > 0, "[attention_grad] no queries for {} keys", z.t);
  with_kernel(z, [&]<class T, int D>() {
    prepare_stats<T>(z, x, w, stream);
    launch_grads<T, D>(z, x, w, stream);
  });
  check_launch("[attention_grad] launch");
}

}  // namespace megalith::cuda
