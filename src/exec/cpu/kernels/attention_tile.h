// Shared code of attention and its gradient: the division of the work into query tiles, and the part of a key tile
// that a query tile sees.
//
// Scores are transposed: a row per key, a lane per query. So the mask's bounds, the running maximum and sum and the
// dropout keys are vectors over queries, and nothing is summed across lanes. Every product has small_gemm's form, and
// K or V is the operand that it reads element by element. Their rows are [t, dp], with dp: d rounded up to whole
// vectors. A key tile is cut into strips of 16 keys. Neighbouring strips with the same live query vectors make one
// Rect. Everything outside of the Rects is masked and never computed. Queries may have any positions. Keys are runs
// of consecutive positions (one run if t is not split), and bounds and tiles count from the start of a run.
#pragma once
#include "exec/cpu/kernel.h"
#include "exec/cpu/small_gemm.h"

namespace megalith::cpu {

constexpr int kTile = 64;   // queries in a tile, and keys in a tile
constexpr int kStrip = 16;  // keys in a strip

struct QueryTile {
  i64 first;  // local index along s
  int count;  // <= kTile, of consecutive positions
};

struct KeyRun {
  i64 local, position, length;  // where it begins, here and in the whole
};

// One query tile of one head; b, g, r are local indices.
struct Item {
  i64 b, g, r;
  int tile;
};

struct AttentionPlan {
  AttentionSpec at;
  i64 s = 0, b = 0, g = 0, r = 0, d = 0, t = 0;
  i64 e = 0;                                                 // size of a value, and of a row of o; d: of q and k
  i64 dp = 0, ep = 0;                                        // rounded up to whole vectors
  std::vector<i64> positions = {}, groups = {}, heads = {};  // global indices along s, g, r
  std::vector<double> slopes = {};                           // [g, r] of this rank, if ALiBi
  std::vector<QueryTile> tiles = {};
  std::vector<KeyRun> key_runs = {};
  std::vector<i64> tile_cost = {};  // key tiles that a query tile sees
  int threads = 1;
  u64 drop_below = 0;     // an element is dropped if hash >> 11 is below it
  double keep_scale = 1;  // 1 / (1 - p)

  i64 position_stride() const { return b * g * r * e; }  // of o
  i64 query_row(const Item& it, i64 local) const { return ((local * b + it.b) * g + it.g) * r + it.r; }

  // q, k and v as dense tensors, or packed in one: heads of d (v: e) elements in a row of a position and sequence.
  i64 query_heads = 0, key_heads = 0;                       // in such a row
  i64 query_stride() const { return b * query_heads * d; }  // of positions
  i64 key_stride() const { return b * key_heads * d; }
  i64 value_stride() const { return b * key_heads * e; }
  i64 query_at(const Item& it, i64 local) const { return ((local * b + it.b) * query_heads + it.g * r + it.r) * d; }
  i64 key_at(i64 pair) const { return (pair / g * key_heads + pair % g) * d; }  // pair: b, g; position 0
  i64 value_at(i64 pair) const { return (pair / g * key_heads + pair % g) * e; }
  i64 packed_keys() const { return g * r * d; }  // where they begin, if packed
  i64 packed_values() const { return g * (r + 1) * d; }

  // With a table of relative positions: the bucket of each distance query - key + origin, a tile's lanes past the end
  // of all queries too.
  std::vector<int> bucket_of = {};
  i64 origin = 0;  // the last key's position
  i64 distances() const { return i64(bucket_of.size()); }
};

// Items are numbered in the order b, g, r, tile; a head is one (b, g, r). Returns the items of `heads` for worker
// `part` of `parts`: in order, with about equal work.
struct ItemRange {
  i64 begin, end;
};
ItemRange share(const AttentionPlan& p, ItemRange heads, i64 part, i64 parts);
Item item_of(const AttentionPlan& p, i64 index);

// `q` is the index of the op's input q (k follows) or qkv; `o` the type of attention's result.
AttentionPlan plan_attention(const AttentionSpec& at, const KernelContext& context, int q, const Type& o);

// The keys [lo, hi] of a run that each query of a tile sees. Lanes past the tile's end repeat its last query.
template <class A>
struct Bounds {
  alignas(64) int_t<A> lo[kTile], hi[kTile];
  static constexpr int kVectors = kTile / kLanes<A>;
  i64 lo_min[kVectors], lo_max[kVectors], hi_min[kVectors], hi_max[kVectors];  // per vector of queries
  i64 first, last;                                                             // keys that any query sees
};
// Which inputs of the op bound what a query sees: starts [s, b], lengths [b], or null.
struct Limits {
  const i32 *starts = nullptr, *lengths = nullptr;
};
// rows: the index of that input.
Limits limits_of(const AttentionSpec& at, const Args& a, int rows);
template <class A>
Bounds<A> bounds_of(const AttentionPlan& p, const Item& it, const KeyRun& keys, const Limits& limits);

struct Rect {
  int j0, j1;   // keys, counted from the key tile's first
  int c0, c1;   // vectors of queries
  bool masked;  // some pairs in it are not visible
};
struct Rects {
  Rect rect[kTile / kStrip];
  int count = 0;
  const Rect* begin() const { return rect; }
  const Rect* end() const { return rect + count; }
};
template <class A>
Rects live_rects(const Bounds<A>& bounds, i64 first_key, i64 end_key);

// ALiBi of one head, for the keys of a run.
template <class A>
struct Alibi {
  A slope = 0;          // 0: none
  A rounded_scale = 0;  // of biases that are rounded (AttentionSpec::alibi_scaled), else 0
  i64 position = 0;     // of the run's first key

  A rounded(i64 key) const { return A(rounded_alibi(float(slope), position + key)); }
};
template <class A>
Alibi<A> alibi_of(const AttentionPlan& p, const Item& it, const KeyRun& keys) {
  if (!p.at.alibi) return {};
  return {A(p.slopes[it.g * p.r + it.r]), p.at.alibi_scaled ? A(p.at.scale) : A(0), keys.position};
}

// scores[j][*] of a rect: adds ALiBi's bias, puts -inf where a key is not visible.
template <class A>
void bias_and_mask(const Bounds<A>& bounds, const Rect& rect, i64 first_key, const Alibi<A>& alibi, A* scores);

// Dropout of one tile: keys of the hash for each query, to be mixed with the key's position.
struct DropKeys {
  u64 key[kTile];
};
DropKeys drop_keys(const AttentionPlan& p, const Item& it, i64 row);
// factor[0..kTile) of one key: 0 or keep_scale.
template <class A>
void drop_factors(const AttentionPlan& p, const DropKeys& keys, i64 key, A* factor);

// n rows of T, `stride` apart, times scale, widened and padded with zeros: to[n][dp].
template <class T>
void pack_rows(const T* from, i64 stride, i64 n, i64 d, accum_t<T> scale, accum_t<T>* to);
// [rows][columns] -> [columns][rows], both multiples of a vector's lanes.
template <class A>
void transpose_tile(const A* from, i64 rows, i64 columns, A* to);

}  // namespace megalith::cpu
