// Attention forward with online softmax: each query tile loops over key tiles with a running maximum and sum.
// attention_tile.h explains why scores are transposed. One thread computes an output, with a fixed order of sums. So
// results are bitwise equal for any number of threads.
#include <cmath>

#include "base/threads.h"
#include "exec/cpu/kernels/attention_bias.h"
#include "exec/cpu/vector_math.h"

namespace megalith::cpu {
namespace {

template <class T, class O>
struct Pass {
  using A = accum_t<T>;
  const AttentionPlan& p;
  const T *q, *k, *v;
  const i64* rows;
  Limits limits;
  const A *o_before, *lse_before;  // results over earlier keys, or null
  O* o;
  A* lse;
  const T* table;  // relative position biases, or null
  A* bias;         // biases by distance, [g,r,distances]

  Distances<A> bias_of(const Item& it) const {
    return {table ? bias + (it.g * p.r + it.r) * p.distances() : nullptr, p.origin};
  }
};

template <class A>
struct Scratch {
  A *k, *v;    // [t, dp] and [t, ep] of the current (b, g)
  A* queries;  // [kTile, dp]; also a tile of o [kTile, ep]
  A* qt;       // [dp, kTile], scaled
  A* scores;   // [keys of a tile, kTile]
  A* ot;       // [ep, kTile]
  alignas(64) A max[kTile], sum[kTile];

  static i64 elements(const AttentionPlan& p) {
    return (p.t + kTile) * (p.dp + p.ep) + kTile * std::max(p.dp, p.ep) + kTile * kTile;
  }
  Scratch(const AttentionPlan& p, A* at) : k(at), v(k + p.t * p.dp), queries(v + p.t * p.ep) {
    qt = queries + kTile * std::max(p.dp, p.ep), ot = qt + kTile * p.dp, scores = ot + kTile * p.ep;
  }
};

// The maximum of the live scores of query vector c, and of `m`.
template <class A>
Vec<A> live_max(const Rects& rects, const A* scores, int c, Vec<A> m) {
  Vec<A> part[4] = {m, m, m, m};  // four independent maxima hide latency
  for (const Rect& rect : rects) {
    if (c < rect.c0 || c >= rect.c1) continue;
    const A* at = scores + c * kLanes<A>;
    int j = rect.j0;
    for (; j + 4 <= rect.j1; j += 4)
      for (int i = 0; i < 4; ++i) part[i] = max<A>(part[i], load(at + (j + i) * kTile));
    for (; j < rect.j1; ++j) part[0] = max<A>(part[0], load(at + j * kTile));
  }
  return max<A>(max<A>(part[0], part[1]), max<A>(part[2], part[3]));
}

// Replaces scores by exp(score - m). Returns their sum.
template <class A>
Vec<A> exp_live(const Rects& rects, A* scores, int c, Vec<A> m) {
  Vec<A> sum[2] = {};
  for (const Rect& rect : rects) {
    if (c < rect.c0 || c >= rect.c1) continue;
    for (int j = rect.j0; j < rect.j1; ++j) {
      A* at = scores + j * kTile + c * kLanes<A>;
      const Vec<A> e = exp(load(at) - m);
      sum[j % 2] += e;
      store(at, e);
    }
  }
  return sum[0] + sum[1];
}

// Replaces scores by probabilities without their factor 1 / sum. Scales earlier sums to the new maximum.
template <class A>
void softmax_step(const AttentionPlan& p, const Rects& rects, Scratch<A>& w) {
  constexpr A inf = std::numeric_limits<A>::infinity();
  for (int c = 0; c < Bounds<A>::kVectors; ++c) {
    A *max_at = w.max + c * kLanes<A>, *sum_at = w.sum + c * kLanes<A>;
    const Vec<A> before = load(max_at), now = live_max<A>(rects, w.scores, c, before);
    const Vec<A> base = now == -inf ? Vec<A>{} : now;  // no key seen yet: every exp below is 0
    const Vec<A> shrink = exp(before - base);
    store(sum_at, load(sum_at) * shrink + exp_live<A>(rects, w.scores, c, base));
    store(max_at, now);
    for (i64 i = 0; i < p.e; ++i) {
      A* at = w.ot + i * kTile + c * kLanes<A>;
      store(at, load(at) * shrink);
    }
  }
}

template <class A>
void drop(const AttentionPlan& p, const DropKeys& keys, const Rect& rect, i64 first_key, A* scores) {
  A factor[kTile];
  for (int j = rect.j0; j < rect.j1; ++j) {
    drop_factors(p, keys, first_key + j, factor);
    for (int i = rect.c0 * kLanes<A>; i < rect.c1 * kLanes<A>; ++i) scores[j * kTile + i] *= factor[i];
  }
}

template <class T, class O>
void attend(const Pass<T, O>& pass, const Item& it, const KeyRun& run, Scratch<accum_t<T>>& w) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  const Bounds<A> bounds = bounds_of<A>(p, it, run, pass.limits);
  const Alibi<A> alibi = alibi_of<A>(p, it, run);
  const Distances<A> bias = pass.bias_of(it);
  const i64 query = p.positions[p.tiles[it.tile].first];
  const DropKeys keys = p.at.dropout > 0 ? drop_keys(p, it, pass.rows[it.b]) : DropKeys{};
  for (i64 first = bounds.first / kTile * kTile; first <= bounds.last; first += kTile) {
    const Rects rects = live_rects(bounds, first, std::min(first + kTile, run.length));
    if (rects.count == 0) continue;
    const i64 local = run.local + first;
    for (const Rect& r : rects) {
      const i64 x = r.c0 * kLanes<A>;
      small_gemm<A>({.a = w.k + (local + r.j0) * p.dp,
                     .a_row = p.dp,
                     .a_col = 1,
                     .b = w.qt + x,
                     .b_row = kTile,
                     .c = w.scores + r.j0 * kTile + x,
                     .c_row = kTile,
                     .m = r.j1 - r.j0,
                     .n = r.c1 - r.c0,
                     .k = p.d,
                     .add = false});
      if (bias.at) add_distances(bias, r, query, run.position + first, w.scores);
      if (r.masked || alibi.slope != 0) bias_and_mask(bounds, r, first, alibi, w.scores);
    }
    softmax_step(p, rects, w);
    for (const Rect& r : rects) {
      if (p.at.dropout > 0) drop(p, keys, r, run.position + first, w.scores);
      const i64 x = r.c0 * kLanes<A>;
      small_gemm<A>({.a = w.v + (local + r.j0) * p.ep,
                     .a_row = 1,
                     .a_col = p.ep,
                     .b = w.scores + r.j0 * kTile + x,
                     .b_row = kTile,
                     .c = w.ot + x,
                     .c_row = kTile,
                     .m = p.e,
                     .n = r.c1 - r.c0,
                     .k = r.j1 - r.j0});
    }
  }
}

// Starts from zero, or from the result over earlier keys: their o has sum 1 and maximum lse.
template <class T, class O>
void begin_softmax(const Pass<T, O>& pass, const Item& it, Scratch<accum_t<T>>& w) {
  using A = accum_t<T>;
  constexpr A inf = std::numeric_limits<A>::infinity();
  const AttentionPlan& p = pass.p;
  std::fill(w.ot, w.ot + p.ep * kTile, A(0));
  std::fill(w.max, w.max + kTile, -inf);
  std::fill(w.sum, w.sum + kTile, A(0));
  if (!pass.o_before) return;
  const QueryTile tile = p.tiles[it.tile];
  pack_rows(pass.o_before + p.query_row(it, tile.first) * p.e, p.position_stride(), tile.count, p.e, A(1), w.queries);
  transpose_tile(w.queries, kTile, p.ep, w.ot);
  for (int i = 0; i < tile.count; ++i) {
    w.max[i] = pass.lse_before[p.query_row(it, tile.first + i)];
    w.sum[i] = w.max[i] == -inf ? A(0) : A(1);
  }
}

template <class T, class O>
void run_item(const Pass<T, O>& pass, const Item& it, Scratch<accum_t<T>>& w) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  const QueryTile tile = p.tiles[it.tile];
  pack_rows(pass.q + p.query_at(it, tile.first), p.query_stride(), tile.count, p.d, A(p.at.scale), w.queries);
  std::fill(w.queries + tile.count * p.dp, w.queries + kTile * p.dp, A(0));
  transpose_tile(w.queries, kTile, p.dp, w.qt);
  begin_softmax(pass, it, w);
  for (const KeyRun& run : p.key_runs) attend(pass, it, run, w);
  transpose_tile(w.ot, p.ep, kTile, w.queries);
  for (int i = 0; i < tile.count; ++i) {
    const A sum = w.sum[i], scale = sum == 0 ? A(0) : 1 / sum;
    const i64 to = p.query_row(it, tile.first + i);
    each_vector<A>(
        0, p.e, [&](i64 x, auto part) { store(pass.o + to * p.e + x, load(w.queries + i * p.ep + x) * scale, part); });
    pass.lse[to] = w.max[i] + std::log(sum);
  }
}

template <class T, class O>
void run(const Pass<T, O>& pass, std::byte* workspace, i64 bytes) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  if (pass.table) spread_table(p, pass.table, pass.bias);
  parallel_for(p.threads, 1, [&](i64 part) {
    Scratch<A> w(p, reinterpret_cast<A*>(workspace + part * bytes));
    const ItemRange mine = share(p, {0, p.b * p.g * p.r}, part, p.threads);
    i64 packed = -1;
    for (i64 i = mine.begin; i < mine.end; ++i) {
      const Item it = item_of(p, i);
      const i64 head = it.b * p.g + it.g;
      if (head != packed) {
        pack_rows(pass.k + p.key_at(head), p.key_stride(), p.t, p.d, A(1), w.k);
        pack_rows(pass.v + p.value_at(head), p.value_stride(), p.t, p.e, A(1), w.v);
        packed = head;
      }
      run_item(pass, it, w);
    }
  });
}

// continues: the last two inputs are o and lse over earlier keys.
template <class T, class O>
Kernel attention(const AttentionSpec& at, bool continues, const KernelContext& context) {
  using A = accum_t<T>;
  const auto plan = std::make_shared<AttentionPlan>(plan_attention(at, context, 0, context.outs[0]));
  const i64 bytes = (Scratch<A>::elements(*plan) * i64(sizeof(A)) + 63) / 64 * 64;
  const i64 bias_bytes = plan->g * plan->r * plan->distances() * i64(sizeof(A));
  return {plan->threads * bytes + bias_bytes, [plan, continues, bytes](const Args& a) {
            const AttentionPlan& p = *plan;
            const bool packed = p.at.packed();
            const T *q = a.in<T>(0), *k = packed ? q + p.packed_keys() : a.in<T>(1),
                    *v = packed ? q + p.packed_values() : a.in<T>(2);
            const int rows = packed ? 1 : 3, before = rows + (p.at.starts ? 2 : 1);
            const Limits limits = limits_of(p.at, a, rows);
            const A *o = continues ? a.in<A>(before) : nullptr, *lse = continues ? a.in<A>(before + 1) : nullptr;
            const T* table = p.at.buckets ? a.in<T>(rows + p.at.table_at()) : nullptr;
            A* bias = reinterpret_cast<A*>(a.workspace + p.threads * bytes);
            const Pass<T, O> pass{p, q, k, v, a.in<i64>(rows), limits, o, lse, a.out<O>(0), a.out<A>(1), table, bias};
            run(pass, a.workspace, bytes);
          }};
}

}  // namespace

Kernel prepare(const Attention& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return attention<T, T>(op.at, false, context); });
}

Kernel prepare(const AttentionPart& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() {
    return op.last ? attention<T, T>(op.at, op.continues, context)
                   : attention<T, accum_t<T>>(op.at, op.continues, context);
  });
}

}  // namespace megalith::cpu
