// Numbers of the attention kernels, and the workspace of those for the gradient. Sizes are one rank's. Positions,
// groups and heads are global indices, because masks and keys of dropout depend on them.
#pragma once
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

struct AttentionSizes {
  static constexpr int kMaxHeads = 256;  // maximum heads with ALiBi slopes
  DType dtype = DType::f32;
  int s = 0, b = 0, g = 0, r = 0, d = 0, t = 0;
  float scale = 1;
  bool causal = true;
  int window = 0;
  bool alibi = false, alibi_scaled = false, dropout = false;
  int reach = 0;  // for relative positions: farther keys have the bias of this distance; 0: no relative positions
  u64 seed = 0, drop_below = 0;            // an element is dropped if its hash >> 11 is below it
  float keep_scale = 1;                    // 1 / (1 - p)
  Indices positions, groups, heads, keys;  // positions: of queries; keys: of keys
  float slopes[kMaxHeads] = {};            // [g, r]
  int query_heads = 0;  // heads in a row of q's (and dq's) tensor: g r, or more if it also contains k and v
  int key_heads = 0;    // the same for k, v: g or more
  bool wide = false;    // o, or dq, dk and dv, are f32 for all dtypes
  int stages = 1;       // stages of shared memory for loaded keys (or queries): 1 or 2
};

constexpr int kMaxHeadSize = 256;
constexpr i64 aligned(i64 bytes) { return (bytes + 255) / 256 * 256; }

// Tiles that never cross a run of positions.
inline int tiles_of(const Indices& positions, int size) {
  int n = 0;
  for (int i = 0; i < positions.runs; ++i) n += (int(positions.length(i)) + size - 1) / size;
  return n;
}

// Sizes of the general kernels: keys, or queries, in a tile of the loop; the statistics of each query; the span of
// documents of each tile. All in bytes.
constexpr int walked(bool f32) { return f32 ? 32 : 64; }
struct QueryNumbers {
  float lse, d;
};
struct Span {
  int low, high;
};
// With relative positions also the biases of all heads, [g, r, distances]. In the backward also their gradients for
// each strip of 16 queries, `[b, g, r, strips, distances]`, and the sums of these.
struct RelativeSpace {
  int distances, strips;
  i64 bias, sums, heads_sums;  // bytes, in this order
};
RelativeSpace relative_space(const AttentionSizes& z);
i64 attention_workspace(const AttentionSizes& z);
i64 attention_stats_bytes(const AttentionSizes& z);
i64 attention_spans_bytes(const AttentionSizes& z);
i64 attention_grad_workspace(const AttentionSizes& z);

// The kernels for Hopper: queries of a tile; tiles of all heads; blocks that compute the queries' statistics. Bytes of
// the workspace. Error for sizes whose counts do not fit into 31 bits.
constexpr int kHopperQueries = 64, kHopperStatsThreads = 256;
inline int hopper_query_tiles(const AttentionSizes& z) { return tiles_of(z.positions, kHopperQueries); }
i64 hopper_tiles(const AttentionSizes& z);
i64 hopper_stats_blocks(const AttentionSizes& z);
i64 hopper_grad_workspace(const AttentionSizes& z);

// Attention over a cache: for each query and head, sums of every span of keys.
constexpr i64 kCacheSpan = 512;  // keys of a block
constexpr i64 cached_attention_workspace(i64 queries, i64 keys, i64 d) {
  return queries * ((keys + kCacheSpan - 1) / kCacheSpan) * (d + 2) * i64(sizeof(float));
}

}  // namespace megalith::cuda
