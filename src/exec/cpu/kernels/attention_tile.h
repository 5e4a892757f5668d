// Shared code of attention and its gradient. It divides the work into query tiles, and finds the part of a key tile
// that a query tile sees.
//
// Scores are transposed: a row per key, a lane per query. So the mask's bounds, the running maximum and sum, and the
// dropout keys are vectors over queries. No sum goes across lanes. Every product has small_gemm's form, and K or V is
// the operand that it reads element by element. K and V are [t, dp] and [t, ep]. dp and ep are d and e, rounded up to
// whole vectors.
//
// A key tile is cut into strips of 16 keys. Neighbouring strips with the same live query vectors make one Rect.
// Everything outside of the Rects is masked and never computed. Queries may have any positions. Keys are runs of
// consecutive positions (one run if t is not split). Bounds and tiles count from the start of a run.
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
  i64 local, position, length;  // first local index, first position, number of keys
};

// One query tile of one head; b, g, r are local indices.
struct Item {
  i64 b, g, r;
  int tile;
};

struct AttentionPlan {
  AttentionSpec at;
  i64 s = 0, b = 0, g = 0, r = 0, d = 0, t = 0;
  i64 e = 0;                                                 // size of a row of v and o; d: of q and k
  i64 dp = 0, ep = 0;                                        // d and e rounded up to whole vectors
  std::vector<i64> positions = {}, groups = {}, heads = {};  // global indices along s, g, r
  std::vector<double> slopes = {};                           // [g, r] of this rank; empty without ALiBi
  std::vector<QueryTile> tiles = {};
  std::vector<KeyRun> key_runs = {};
  std::vector<i64> tile_cost = {};  // key tiles that a query tile sees
  int threads = 1;
  u64 drop_below = 0;     // an element is dropped if hash >> 11 is below it
  double keep_scale = 1;  // 1 / (1 - p)

  i64 position_stride() const { return b * g * r * e; }  // of o
  i64 query_row(const Item& it, i64 local) const { return ((local * b + it.b) * g + it.g) * r + it.r; }

  // q, k and v are three dense tensors, or packed in one tensor. A row has the heads of one position and sequence, with
  // d elements each (v: e).
  i64 query_heads = 0, key_heads = 0;                       // heads in a row
  i64 query_stride() const { return b * query_heads * d; }  // elements from position to position
  i64 key_stride() const { return b * key_heads * d; }
  i64 value_stride() const { return b * key_heads * e; }
  i64 query_at(const Item& it, i64 local) const { return ((local * b + it.b) * query_heads + it.g * r + it.r) * d; }
  i64 key_at(i64 pair) const { return (pair / g * key_heads + pair % g) * d; }  // of position 0; pair: (b, g)
  i64 value_at(i64 pair) const { return (pair / g * key_heads + pair % g) * e; }
  i64 packed_keys() const { return g * r * d; }  // offset in a packed row
  i64 packed_values() const { return g * (r + 1) * d; }

  // With relative position bias: the bucket of each distance query - key + origin. This includes the lanes of a tile
  // past the last query.
  std::vector<int> bucket_of = {};
  i64 origin = 0;  // the last key's position
  i64 distances() const { return i64(bucket_of.size()); }
};

// Items are numbered in the order b, g, r, tile. A head is one (b, g, r). share() returns the items of `heads` for
// worker `part` of `parts`. Workers get consecutive items and about equal work.
struct ItemRange {
  i64 begin, end;
};
ItemRange share(const AttentionPlan& p, ItemRange heads, i64 part, i64 parts);
Item item_of(const AttentionPlan& p, i64 index);

// `q`: index of the op's input q (k follows) or qkv. `o`: type of attention's output.
AttentionPlan plan_attention(const AttentionSpec& at, const KernelContext& context, int q, const Type& o);

// The keys [lo, hi] of a run that each query of a tile sees. Lanes past the tile's end repeat its last query.
template <class A>
struct Bounds {
  alignas(64) int_t<A> lo[kTile], hi[kTile];
  static constexpr int kVectors = kTile / kLanes<A>;
  i64 lo_min[kVectors], lo_max[kVectors], hi_min[kVectors], hi_max[kVectors];  // per vector of queries
  i64 first, last;                                                             // keys that any query sees
};
// Inputs of the op that limit the keys of a query: starts [s, b] and lengths [b]. Null: no limit.
struct Limits {
  const i32 *starts = nullptr, *lengths = nullptr;
};
// rows: index of this input.
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
  A rounded_scale = 0;  // for rounded biases (AttentionSpec::alibi_scaled), else 0
  i64 position = 0;     // of the run's first key

  A rounded(i64 key) const { return A(rounded_alibi(float(slope), position + key)); }
};
template <class A>
Alibi<A> alibi_of(const AttentionPlan& p, const Item& it, const KeyRun& keys) {
  if (!p.at.alibi) return {};
  return {A(p.slopes[it.g * p.r + it.r]), p.at.alibi_scaled ? A(p.at.scale) : A(0), keys.position};
}

// Adds ALiBi's bias to scores[j][*] of a rect. Sets the scores of invisible keys to -inf.
template <class A>
void bias_and_mask(const Bounds<A>& bounds, const Rect& rect, i64 first_key, const Alibi<A>& alibi, A* scores);

// Dropout of one tile: each query's hash before the key's position is mixed in.
struct DropKeys {
  u64 key[kTile];
};
DropKeys drop_keys(const AttentionPlan& p, const Item& it, i64 row);
// Sets factor[0..kTile) for one key: 0 or keep_scale.
template <class A>
void drop_factors(const AttentionPlan& p, const DropKeys& keys, i64 key, A* factor);

// Packs n rows of T, which are `stride` elements apart, to to[n][dp]: times scale, widened, padded with zeros.
template <class T>
void pack_rows(const T* from, i64 stride, i64 n, i64 d, accum_t<T> scale, accum_t<T>* to);
// Transposes [rows][columns] to [columns][rows]. Both are multiples of a vector's lanes.
template <class A>
void transpose_tile(const A* from, i64 rows, i64 columns, A* to);

}  // namespace megalith::cpu
