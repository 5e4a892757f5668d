// A block's part of an attention kernel: tiles of queries, or of keys, that never cross a run of positions; a head;
// and the keys that a query sees.
#pragma once
#include "base/rng.h"
#include "exec/cuda/kernels/attention/alibi.cuh"
#include "exec/cuda/kernels/attention/attention.h"
#include "exec/cuda/kernels/device_math.cuh"

namespace megalith::cuda {

constexpr float kLn2 = 0.693147180559945309f;

struct AttentionTile {
  int local, count, position;  // of its first query or key; the positions are consecutive
};
__device__ inline AttentionTile tile_at(const Indices& positions, int tile, int size) {
  for (int i = 0;; ++i) {
    const int first = tile * size, length = int(positions.length(i));
    if (first < length)
      return {int(positions.place[i]) + first, min(size, length - first), int(positions.start[i]) + first};
    tile -= (length + size - 1) / size;
  }
}
// The first of these tiles with a query that sees `key`. If there is none, the number of tiles.
__device__ inline int first_tile_to_see(const Indices& positions, int key, int size) {
  int tiles = 0;
  for (int i = 0; i < positions.runs; ++i) {
    const int start = int(positions.start[i]), length = int(positions.length(i));
    if (key < start + length) return tiles + max(0, key - start) / size;
    tiles += (length + size - 1) / size;
  }
  return tiles;
}

// The tiles of keys from position `low` to position `last`, run by run. A run's tiles are counted from its start.
template <int kSize>
struct KeyTiles {
  const Indices& keys;  // their positions
  const int low, last;
  int run = -1, first = 0, end = 0;  // the current tile: positions first.. of a run, of which those before end count

  __device__ KeyTiles(const Indices& positions, int from, int to) : keys(positions), low(from), last(to) { find(); }
  __device__ bool done() const { return run >= keys.runs; }
  __device__ KeyTiles after() const {
    KeyTiles to = *this;
    to.next();
    return to;
  }
  __device__ void next() {
    first += kSize;
    find();
  }
  __device__ int local() const { return int(keys.place[run]) + first - int(keys.start[run]); }
  __device__ int count() const { return min(kSize, end - first); }

 private:
  __device__ void find() {
    while (first >= end && ++run < keys.runs) {
      const int start = int(keys.start[run]);
      end = min(start + int(keys.length(run)), last + 1);
      first = start + max(0, low - start) / kSize * kSize;
    }
  }
};

struct Head {
  int b, g, r;
};
// Rows of o, lse [s,b,g,r], of q and of k, v [t,b,g].
__device__ inline i64 output_row(const AttentionSizes& z, const Head& h, int local) {
  return ((i64(local) * z.b + h.b) * z.g + h.g) * z.r + h.r;
}
__device__ inline i64 query_row(const AttentionSizes& z, const Head& h, int local) {
  return (i64(local) * z.b + h.b) * z.query_heads + h.g * z.r + h.r;
}
__device__ inline i64 key_row(const AttentionSizes& z, const Head& h, int key) {
  return (i64(key) * z.b + h.b) * z.key_heads + h.g;
}
inline __device__ i64 output_stride(const AttentionSizes& z) { return i64(z.b) * z.g * z.r * z.d; }
inline __device__ i64 query_stride(const AttentionSizes& z) { return i64(z.b) * z.query_heads * z.d; }
inline __device__ i64 key_stride(const AttentionSizes& z) { return i64(z.b) * z.key_heads * z.d; }

// Dropout's hash: of a head, then of a query in it, then of a key.
__device__ inline u64 head_hash(const AttentionSizes& z, const Head& h, const i64* rows) {
  return z.dropout ? mix_all(z.seed, rows[h.b], z.groups[h.g], z.heads[h.r]) : 0;
}
__device__ inline float keep_factor(const AttentionSizes& z, u64 query_hash, int key) {
  return (mix(query_hash, u64(key)) >> 11) < z.drop_below ? 0.0f : z.keep_scale;
}

// Scales products of queries and keys to scores, times log2(e). key(j, e), query(j, e): their positions. kRelative:
// bias is that of relative positions.
template <bool kRelative, int N, class K, class Q>
__device__ void to_scores(const AttentionSizes& z, const Head& h, const float* bias, float (&c)[N][4], K key, Q query) {
  const float scale = z.scale * kLog2E;
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) c[j][e] *= scale;
  if constexpr (kRelative) {
    const float* of_head = bias + (h.g * z.r + h.r) * (2 * z.reach + 1) + z.reach;
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) c[j][e] += of_head[min(max(key(j, e) - query(j, e), -z.reach), z.reach)];
  }
  if (!z.alibi) return;
  const float slope = z.slopes[h.g * z.r + h.r], by = z.alibi_scaled ? scale : slope * kLog2E;
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      c[j][e] += by * (z.alibi_scaled ? rounded_alibi(slope, key(j, e)) - rounded_alibi(slope, query(j, e))
                                      : float(key(j, e) - query(j, e)));
}

// Keys from `end` on are masked for all queries of a sequence: its length, or the end of its keys.
__device__ inline int end_of_keys(const AttentionSizes& z, const i32* lengths, int b) {
  const int last = z.keys.runs - 1, end = last < 0 ? 0 : int(z.keys.start[last] + z.keys.length(last));
  return lengths ? min(end, lengths[b]) : end;
}
// The last key that the query at `position` sees.
__device__ inline int last_key(const AttentionSizes& z, int position, int end) {
  return z.causal ? min(position, end - 1) : end - 1;
}
// The first key that the query at `position` sees.
__device__ inline int first_key(const AttentionSizes& z, int position, int start) {
  return max(z.window > 0 ? position - z.window + 1 : 0, start);
}

__device__ inline Span warp_span(Span x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    x.low = min(x.low, __shfl_xor_sync(0xffffffffu, x.low, lane));
    x.high = max(x.high, __shfl_xor_sync(0xffffffffu, x.high, lane));
  }
  return x;
}
// The smallest and the largest document start of a tile of queries. All threads of each warp call it.
__device__ inline Span span_of_starts(const AttentionSizes& z, const AttentionTile& tile, int b, const i32* starts) {
  if (!starts) return {0, 0};
  Span x{tile.position + tile.count, 0};
  for (int i = threadIdx.x % 32; i < tile.count; i += 32) {
    const int start = max(0, starts[i64(tile.local + i) * z.b + b]);
    x.low = min(x.low, start), x.high = max(x.high, start);
  }
  return warp_span(x);
}
// The smallest and the largest first key of a tile's queries.
__device__ inline Span first_keys(const AttentionSizes& z, const AttentionTile& tile, Span starts) {
  return {first_key(z, tile.position, starts.low), first_key(z, tile.position + tile.count - 1, starts.high)};
}

// Whether not all queries of a tile see all keys of a tile. `lows`: their first keys; `last`: the last key of the
// first query.
template <int kSize>
__device__ bool has_hidden(const KeyTiles<kSize>& at, const Span& lows, int last) {
  return at.first < lows.high || at.first + kSize > min(last + 1, at.end);
}

// A lane's values of its two queries in a warp's 16.
struct LaneQueries {
  int position[2], low[2], high[2];  // keys at low..high are visible; none if the tile ends before
  u64 hash[2];
};
__device__ inline LaneQueries lane_queries(const AttentionSizes& z, const AttentionTile& tile, const Head& h,
                                           const i64* rows, const i32* starts, int end) {
  LaneQueries x;
  const u64 hash = head_hash(z, h, rows);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * i, at = min(row, tile.count - 1);
    x.position[i] = tile.position + at;
    x.low[i] = first_key(z, x.position[i], starts ? starts[i64(tile.local + at) * z.b + h.b] : 0);
    x.high[i] = row < tile.count ? last_key(z, x.position[i], end) : -1;
    x.hash[i] = z.dropout ? mix(hash, u64(x.position[i])) : 0;
  }
  return x;
}

// Masks the scores of keys that the lane's queries do not see.
template <int kSize>
__device__ void hide(const LaneQueries& q, const KeyTiles<kSize>& at, float (&c)[kSize / 8][4]) {
#pragma unroll
  for (int j = 0; j < kSize / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = at.first + 8 * j + int(threadIdx.x) % 4 * 2 + e % 2;
      if (key < q.low[e / 2] || key > q.high[e / 2] || key >= at.end) c[j][e] = -INFINITY;
    }
}

}  // namespace megalith::cuda
