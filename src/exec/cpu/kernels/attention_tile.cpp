#include "exec/cpu/kernels/attention_tile.h"

#include <cmath>

#include "base/rng.h"
#include "base/threads.h"
#include "ops/relative_positions.h"

namespace megalith::cpu {

static std::vector<QueryTile> cut_tiles(const std::vector<i64>& positions) {
  std::vector<QueryTile> tiles;
  const i64 n = i64(positions.size());
  for (i64 i = 0; i < n;) {
    i64 end = i + 1;
    while (end < n && end - i < kTile && positions[end] == positions[end - 1] + 1) ++end;
    tiles.push_back({i, int(end - i)});
    i = end;
  }
  return tiles;
}

// Number of key tiles of a run that a query tile sees.
static i64 tiles_seen(const AttentionPlan& p, const QueryTile& tile, const KeyRun& keys) {
  const i64 first = p.positions[tile.first] - keys.position;
  const i64 last = p.at.causal ? std::min(first + tile.count, keys.length) - 1 : keys.length - 1;
  const i64 lo = p.at.window > 0 ? std::max<i64>(0, first - p.at.window + 1) : 0;
  return last < lo ? 0 : last / kTile - lo / kTile + 1;
}

AttentionPlan plan_attention(const AttentionSpec& at, const KernelContext& context, int q, const Type& o) {
  const Shape os = local_shape(context.mesh, o.shape, o.layout);
  AttentionPlan p{.at = at, .s = os[0], .b = os[1], .g = os[2], .r = os[3]};
  p.e = os[4], p.d = context.in_shape(q).back();
  const Type& keys = context.ins[at.packed() ? q : q + 1];
  for (const Run& run : index_runs(context.mesh, keys.shape, keys.layout, context.coord, 0))
    p.key_runs.push_back({p.t, run.start, run.length}), p.t += run.length;
  p.query_heads = at.packed() ? p.g * (p.r + 2) : p.g * p.r;
  check(!at.packed() || (context.in_shape(q)[2] == p.query_heads && p.s == p.t),
        "[attention] packed {} does not hold the {} + 2 * {} heads of {}", to_string(context.ins[q]), p.g * p.r, p.g,
        to_string(o));
  p.key_heads = at.packed() ? p.query_heads : p.g;
  const i64 lanes = context.ins[q].dtype == DType::f64 ? kLanes<double> : kLanes<float>;
  p.dp = (p.d + lanes - 1) / lanes * lanes, p.ep = (p.e + lanes - 1) / lanes * lanes;
  const auto along = [&](int dim) { return indices(context.mesh, o.shape, o.layout, context.coord, dim); };
  p.positions = along(0), p.groups = along(2), p.heads = along(3);
  p.tiles = cut_tiles(p.positions);
  for (const QueryTile& tile : p.tiles) {
    p.tile_cost.push_back(1);
    for (const KeyRun& run : p.key_runs) p.tile_cost.back() += tiles_seen(p, tile, run);
  }
  if (at.alibi) {
    const i64 logical_r = o.dim(3);
    const std::vector<double> all = alibi_slopes(at, o.dim(2) * logical_r);
    for (i64 g : p.groups)
      for (i64 r : p.heads) p.slopes.push_back(all[g * logical_r + r]);
  }
  if (at.buckets) {
    p.origin = keys.dim(0) - 1;
    for (i64 key = p.origin; key > -(o.dim(0) + kTile); --key)  // relative to query position 0
      p.bucket_of.push_back(relative_bucket(key, !at.causal, at.buckets, at.max_distance));
  }
  p.threads = num_threads();
  p.drop_below = u64(std::ceil(at.dropout * 0x1p53));
  p.keep_scale = 1 / (1 - at.dropout);
  return p;
}

Limits limits_of(const AttentionSpec& at, const Args& a, int rows) {
  return {at.starts ? a.in<i32>(rows + 1) : nullptr, at.lengths ? a.in<i32>(rows + at.lengths_at()) : nullptr};
}

template <class A>
Bounds<A> bounds_of(const AttentionPlan& p, const Item& it, const KeyRun& keys, const Limits& limits) {
  Bounds<A> out;
  const QueryTile tile = p.tiles[it.tile];
  const i64 end = limits.lengths ? limits.lengths[it.b] - keys.position : std::numeric_limits<i64>::max();
  out.first = keys.length, out.last = -1;
  for (int i = 0; i < kTile; ++i) {
    const i64 local = tile.first + std::min(i, tile.count - 1), at = p.positions[local] - keys.position;
    i64 lo = p.at.window > 0 ? std::max<i64>(0, at - p.at.window + 1) : 0;
    if (limits.starts) lo = std::max<i64>(lo, limits.starts[local * p.b + it.b] - keys.position);
    const i64 hi = p.at.causal ? std::min(at, end - 1) : std::min(end, keys.length) - 1;
    out.lo[i] = int_t<A>(lo), out.hi[i] = int_t<A>(hi);
    const int c = i / kLanes<A>;
    const bool fresh = i % kLanes<A> == 0;
    out.lo_min[c] = fresh ? lo : std::min(out.lo_min[c], lo);
    out.lo_max[c] = fresh ? lo : std::max(out.lo_max[c], lo);
    out.hi_min[c] = fresh ? hi : std::min(out.hi_min[c], hi);
    out.hi_max[c] = fresh ? hi : std::max(out.hi_max[c], hi);
    out.first = std::min(out.first, lo), out.last = std::max(out.last, std::min(hi, keys.length - 1));
  }
  const int used = (tile.count + kLanes<A> - 1) / kLanes<A>;
  for (int c = used; c < Bounds<A>::kVectors; ++c)
    out.lo_min[c] = keys.length, out.hi_max[c] = -1;  // empty range: never live
  return out;
}

template <class A>
Rects live_rects(const Bounds<A>& bounds, i64 first_key, i64 end_key) {
  Rects out;
  for (i64 key = first_key; key < end_key; key += kStrip) {
    const i64 end = std::min(key + kStrip, end_key);
    Rect r{int(key - first_key), int(end - first_key), Bounds<A>::kVectors, 0, false};
    for (int c = 0; c < Bounds<A>::kVectors; ++c)
      if (key <= bounds.hi_max[c] && end > bounds.lo_min[c]) r.c0 = std::min(r.c0, c), r.c1 = c + 1;
    for (int c = r.c0; c < r.c1; ++c) r.masked |= end - 1 > bounds.hi_min[c] || key < bounds.lo_max[c];
    if (r.c0 >= r.c1) continue;
    Rect* before = out.count ? &out.rect[out.count - 1] : nullptr;
    if (before && before->j1 == r.j0 && before->c0 == r.c0 && before->c1 == r.c1 && before->masked == r.masked)
      before->j1 = r.j1;
    else
      out.rect[out.count++] = r;
  }
  return out;
}

// Adds rounded biases: the key's number, which is one for a row, minus the query's number, which is one for a lane.
template <class A>
static void add_rounded_bias(const Bounds<A>& bounds, const Rect& rect, i64 first_key, const Alibi<A>& alibi,
                             A* scores) {
  alignas(64) A own[kTile];
  const int begin = rect.c0 * kLanes<A>, end = rect.c1 * kLanes<A>;
  for (int i = begin; i < end; ++i) own[i] = alibi.rounded(bounds.hi[i]);
  for (int j = rect.j0; j < rect.j1; ++j) {
    const Vec<A> of_key = fill(alibi.rounded(first_key + j));
    for (int i = begin; i < end; i += kLanes<A>) {
      A* at = scores + j * kTile + i;
      store(at, load(at) + alibi.rounded_scale * (of_key - load(own + i)));
    }
  }
}

template <class A>
void bias_and_mask(const Bounds<A>& bounds, const Rect& rect, i64 first_key, const Alibi<A>& alibi, A* scores) {
  using I = int_t<A>;
  if (alibi.rounded_scale != 0) add_rounded_bias(bounds, rect, first_key, alibi, scores);
  const A slope = alibi.rounded_scale != 0 ? A(0) : alibi.slope;
  const Vec<A> hidden = fill(-std::numeric_limits<A>::infinity());
  for (int j = rect.j0; j < rect.j1; ++j)
    for (int c = rect.c0; c < rect.c1; ++c) {
      A* at = scores + j * kTile + c * kLanes<A>;
      Vec<I> lo, hi;
      std::memcpy(&lo, bounds.lo + c * kLanes<A>, sizeof lo);
      std::memcpy(&hi, bounds.hi + c * kLanes<A>, sizeof hi);
      const Vec<I> key = fill(I(first_key + j));
      Vec<A> x = load(at);
      if (slope != 0) x += slope * __builtin_convertvector(key - hi, Vec<A>);
      store(at, (key < lo) | (key > hi) ? hidden : x);
    }
}

// The first item for which the costs of all earlier items reach `cost`.
static i64 item_at(const AttentionPlan& p, i64 cost) {
  i64 per_head = 0;
  for (i64 c : p.tile_cost) per_head += c;
  if (per_head == 0) return 0;
  i64 item = cost / per_head * i64(p.tiles.size()), rest = cost % per_head;
  for (size_t tile = 0; rest > 0; rest -= p.tile_cost[tile++]) ++item;
  return item;
}

ItemRange share(const AttentionPlan& p, ItemRange heads, i64 part, i64 parts) {
  i64 per_head = 0;
  for (i64 c : p.tile_cost) per_head += c;
  const i64 first = heads.begin * per_head, cost = (heads.end - heads.begin) * per_head;
  return {item_at(p, first + cost * part / parts), item_at(p, first + cost * (part + 1) / parts)};
}

Item item_of(const AttentionPlan& p, i64 index) {
  const i64 tiles = i64(p.tiles.size());
  const i64 tile = index % tiles, r = index / tiles % p.r, g = index / tiles / p.r % p.g;
  return {index / tiles / p.r / p.g, g, r, int(tile)};
}

DropKeys drop_keys(const AttentionPlan& p, const Item& it, i64 row) {
  DropKeys out;
  const u64 head = mix_all(p.at.seed, row, p.groups[it.g], p.heads[it.r]);
  const QueryTile tile = p.tiles[it.tile];
  for (int i = 0; i < kTile; ++i) out.key[i] = mix(head, u64(p.positions[tile.first + std::min(i, tile.count - 1)]));
  return out;
}

template <class A>
void drop_factors(const AttentionPlan& p, const DropKeys& keys, i64 key, A* factor) {
  const A keep = A(p.keep_scale);
  const u64 below = p.drop_below;
  for (int i = 0; i < kTile; ++i) factor[i] = (mix(keys.key[i], u64(key)) >> 11) < below ? A(0) : keep;
}

template <class T>
void pack_rows(const T* from, i64 stride, i64 n, i64 d, accum_t<T> scale, accum_t<T>* to) {
  using A = accum_t<T>;
  const i64 dp = (d + kLanes<A> - 1) / kLanes<A> * kLanes<A>;
  for (i64 i = 0; i < n; ++i)
    each_vector<A>(0, d, [&](i64 x, auto part) { store(to + i * dp + x, scale * load(from + i * stride + x, part)); });
}

template <class A>
void transpose_tile(const A* from, i64 rows, i64 columns, A* to) {
  constexpr int n = kLanes<A>;
  for (i64 y = 0; y < rows; y += n)
    for (i64 x = 0; x < columns; x += n) {
      Vec<A> square[n];
      for (int i = 0; i < n; ++i) square[i] = load(from + (y + i) * columns + x);
      transpose<A>(square);
      for (int i = 0; i < n; ++i) store(to + (x + i) * rows + y, square[i]);
    }
}

template Bounds<float> bounds_of(const AttentionPlan&, const Item&, const KeyRun&, const Limits&);
template Bounds<double> bounds_of(const AttentionPlan&, const Item&, const KeyRun&, const Limits&);
template Rects live_rects(const Bounds<float>&, i64, i64);
template Rects live_rects(const Bounds<double>&, i64, i64);
template void bias_and_mask(const Bounds<float>&, const Rect&, i64, const Alibi<float>&, float*);
template void bias_and_mask(const Bounds<double>&, const Rect&, i64, const Alibi<double>&, double*);
template void drop_factors(const AttentionPlan&, const DropKeys&, i64, float*);
template void drop_factors(const AttentionPlan&, const DropKeys&, i64, double*);
template void pack_rows(const float*, i64, i64, i64, float, float*);
template void pack_rows(const bf16*, i64, i64, i64, float, float*);
template void pack_rows(const f16*, i64, i64, i64, float, float*);
template void pack_rows(const double*, i64, i64, i64, double, double*);
template void transpose_tile(const float*, i64, i64, float*);
template void transpose_tile(const double*, i64, i64, double*);

}  // namespace megalith::cpu
