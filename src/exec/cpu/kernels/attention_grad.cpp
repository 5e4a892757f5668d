// Attention backward. Probabilities P are recomputed from q, k and lse. With D = sum_d do * o, and P' = P after
// dropout:
//   dv = P'^T do    dS = P * (keep * do v^T - D)    dq = scale * dS k    dk = scale * dS^T q
// A job loops over the query tiles of all r of one (b, g). It adds to its own dk and dv, so there are no races and no
// atomics. If pairs (b, g) are too few for the threads, each pair is split into several jobs. Their dk and dv are added
// in order at the end.
#include "base/threads.h"
#include "exec/cpu/kernels/attention_bias.h"
#include "exec/cpu/vector_math.h"

namespace megalith::cpu {
namespace {

template <class T, class G>
struct Pass {
  using A = accum_t<T>;
  const AttentionPlan& p;
  const T *dout, *q, *k, *v, *o;
  const A* lse;
  const i64* rows;
  Limits limits;
  G *dq, *dk, *dv;
  const T* table = nullptr;  // relative position biases and their gradient, or null
  std::byte* dtable = nullptr;
  DType dtable_type = DType::f32;
};

// Memory of one thread. Tiles of q are [kTile, dp], or transposed [dp, kTile]. Tiles of do have ep instead of dp.
template <class A>
struct Scratch {
  A *k, *v;  // [t, dp] and [t, ep] of the current (b, g)
  A *queries, *qt, *dout, *dout_t, *dqt;
  A *probabilities, *dscores;  // [keys of a tile, kTile]
  alignas(64) A lse[kTile], delta[kTile];

  static i64 elements(const AttentionPlan& p) {
    return p.t * (p.dp + p.ep) + kTile * (3 * p.dp + 2 * p.ep) + 2 * kTile * kTile;
  }
  Scratch(const AttentionPlan& p, A* at) : k(at), v(k + p.t * p.dp), queries(v + p.t * p.ep) {
    const i64 of_q = kTile * p.dp, of_o = kTile * p.ep;
    qt = queries + of_q, dout = qt + of_q, dout_t = dout + of_o, dqt = dout_t + of_o;
    probabilities = dqt + of_q, dscores = probabilities + kTile * kTile;
  }
};

template <class A>
struct KeyGrads {
  A *dk, *dv;  // [t, dp], [t, ep]
};

template <class T, class G>
void load_tile(const Pass<T, G>& pass, const Item& it, Scratch<accum_t<T>>& w) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  const QueryTile tile = p.tiles[it.tile];
  const i64 row = p.query_row(it, tile.first);
  pack_rows(pass.q + p.query_at(it, tile.first), p.query_stride(), tile.count, p.d, A(p.at.scale), w.queries);
  pack_rows(pass.dout + row * p.e, p.position_stride(), tile.count, p.e, A(1), w.dout);
  std::fill(w.queries + tile.count * p.dp, w.queries + kTile * p.dp, A(0));
  std::fill(w.dout + tile.count * p.ep, w.dout + kTile * p.ep, A(0));
  transpose_tile(w.queries, kTile, p.dp, w.qt);
  transpose_tile(w.dout, kTile, p.ep, w.dout_t);
  std::fill(w.dqt, w.dqt + p.dp * kTile, A(0));
  constexpr A inf = std::numeric_limits<A>::infinity();
  for (int i = 0; i < kTile; ++i) {
    w.lse[i] = inf, w.delta[i] = 0;  // past the tile's end: probability 0
    if (i >= tile.count) continue;
    const i64 at = p.query_row(it, tile.first + i);
    Vec<A> sum = {};
    each_vector<A>(0, p.e,
                   [&](i64 x, auto part) { sum += load(w.dout + i * p.ep + x) * load(pass.o + at * p.e + x, part); });
    w.delta[i] = sum_lanes<A>(sum);
    if (pass.lse[at] != -inf) w.lse[i] = pass.lse[at];
  }
}

// Replaces scores by the probabilities after dropout, and do v^T by dS.
template <class A>
void dsoftmax(const AttentionPlan& p, const DropKeys& keys, const Rect& r, i64 first_key, Scratch<A>& w) {
  alignas(64) A factor[kTile];
  std::fill(factor, factor + kTile, A(1));
  for (int j = r.j0; j < r.j1; ++j) {
    if (p.at.dropout > 0) drop_factors(p, keys, first_key + j, factor);
    for (int x = r.c0 * kLanes<A>; x < r.c1 * kLanes<A>; x += kLanes<A>) {
      A *pr = w.probabilities + j * kTile + x, *ds = w.dscores + j * kTile + x;
      const Vec<A> e = exp(load(pr) - load(w.lse + x)), keep = load(factor + x);
      store(ds, e * (load(ds) * keep - load(w.delta + x)));
      store(pr, e * keep);
    }
  }
}

template <class T, class G>
void key_tile(const Pass<T, G>& pass, const Item& it, const KeyRun& run, const Rect& r, i64 first,
              const Bounds<accum_t<T>>& bounds, const Distances<accum_t<T>>& bias, Scratch<accum_t<T>>& w) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  const Alibi<A> alibi = alibi_of<A>(p, it, run);
  const i64 x = r.c0 * kLanes<A>, at = r.j0 * kTile + x, key = run.local + first + r.j0;
  SmallGemm<A> g{.a = w.k + key * p.dp,
                 .a_row = p.dp,
                 .a_col = 1,
                 .b = w.qt + x,
                 .b_row = kTile,
                 .c = w.probabilities + at,
                 .c_row = kTile,
                 .m = r.j1 - r.j0,
                 .n = r.c1 - r.c0,
                 .k = p.d,
                 .add = false};
  small_gemm(g);
  if (bias.at) add_distances(bias, r, p.positions[p.tiles[it.tile].first], run.position + first, w.probabilities);
  if (r.masked || alibi.slope != 0) bias_and_mask(bounds, r, first, alibi, w.probabilities);
  g.a = w.v + key * p.ep, g.a_row = p.ep, g.k = p.e, g.b = w.dout_t + x, g.c = w.dscores + at;
  small_gemm(g);
}

template <class A>
void add_grads(const AttentionPlan& p, const Rect& r, i64 first_key, Scratch<A>& w, const KeyGrads<A>& to) {
  const i64 x = r.c0 * kLanes<A>, at = r.j0 * kTile + x, key = (first_key + r.j0) * p.dp;
  const i64 value = (first_key + r.j0) * p.ep;
  SmallGemm<A> g{.a = w.probabilities + at,
                 .a_row = kTile,
                 .a_col = 1,
                 .b = w.dout + x * p.ep,
                 .b_row = p.ep,
                 .c = to.dv + value,
                 .c_row = p.ep,
                 .m = r.j1 - r.j0,
                 .n = p.ep / kLanes<A>,
                 .k = (r.c1 - r.c0) * kLanes<A>};
  small_gemm(g);
  g.a = w.dscores + at, g.b = w.queries + x * p.dp, g.b_row = p.dp;
  g.c = to.dk + key, g.c_row = p.dp, g.n = p.dp / kLanes<A>;
  small_gemm(g);
  small_gemm<A>({.a = w.k + key,
                 .a_row = 1,
                 .a_col = p.dp,
                 .b = w.dscores + at,
                 .b_row = kTile,
                 .c = w.dqt + x,
                 .c_row = kTile,
                 .m = p.d,
                 .n = r.c1 - r.c0,
                 .k = r.j1 - r.j0});
}

template <class T, class G>
void run_item(const Pass<T, G>& pass, const Item& it, Scratch<accum_t<T>>& w, const KeyGrads<accum_t<T>>& to,
              const BiasGrads<accum_t<T>>& relative, i64 part) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  load_tile(pass, it, w);
  const Distances<A> bias = relative.bias_of(p, it), dbias = relative.grads_of(p, it, part);
  const i64 query = p.positions[p.tiles[it.tile].first];
  const DropKeys keys = p.at.dropout > 0 ? drop_keys(p, it, pass.rows[it.b]) : DropKeys{};
  for (const KeyRun& run : p.key_runs) {
    const Bounds<A> bounds = bounds_of<A>(p, it, run, pass.limits);
    for (i64 first = bounds.first / kTile * kTile; first <= bounds.last; first += kTile)
      for (const Rect& r : live_rects(bounds, first, std::min(first + kTile, run.length))) {
        key_tile(pass, it, run, r, first, bounds, bias, w);
        dsoftmax(p, keys, r, run.position + first, w);
        if (dbias.at) gather_distances(w.dscores, r, query, run.position + first, dbias);
        add_grads(p, r, run.local + first, w, to);
      }
  }
  transpose_tile(w.dqt, p.dp, kTile, w.queries);
  const QueryTile tile = p.tiles[it.tile];
  for (int i = 0; i < tile.count; ++i)
    each_vector<A>(0, p.d, [&](i64 x, auto part) {
      store(pass.dq + p.query_at(it, tile.first + i) + x, load(w.queries + i * p.dp + x) * A(p.at.scale), part);
    });
}

// Writes one row of dk or dv: the sum of this row of `count` accumulators, which are `stride` elements apart.
template <class A, class G>
void write_row(const A* from, i64 count, i64 stride, i64 d, G* to) {
  each_vector<A>(0, d, [&](i64 x, auto part) {
    Vec<A> sum = load(from + x);
    for (i64 i = 1; i < count; ++i) sum += load(from + i * stride + x);
    store(to + x, sum, part);
  });
}

// The jobs, and their accumulators of dk and dv. With one job per (b, g), each thread has one accumulator and reuses
// it. Otherwise each job has one.
struct Jobs {
  i64 pairs, splits;
  i64 scratch_bytes, grads_bytes;  // per thread, per accumulator
  i64 accumulators;

  i64 count() const { return pairs * splits; }
  i64 bytes(int threads) const { return threads * scratch_bytes + accumulators * grads_bytes; }
};
template <class A>
Jobs cut_jobs(const AttentionPlan& p) {
  const i64 pairs = p.b * p.g, want = 4 * i64(p.threads), most = std::max<i64>(1, p.r * i64(p.tiles.size()));
  const i64 splits = p.threads == 1 || pairs == 0 || pairs >= want ? 1 : std::min(most, (want + pairs - 1) / pairs);
  const auto rounded = [](i64 elements) { return (elements * i64(sizeof(A)) + 63) / 64 * 64; };
  return {pairs, splits, rounded(Scratch<A>::elements(p)), rounded(p.t * (p.dp + p.ep)),
          splits == 1 ? p.threads : pairs * splits};
}

template <class T, class G>
void write_keys(const Pass<T, G>& pass, i64 pair, i64 key, const KeyGrads<accum_t<T>>& from, const Jobs& jobs) {
  const AttentionPlan& p = pass.p;
  const i64 stride = jobs.grads_bytes / i64(sizeof(accum_t<T>));
  write_row(from.dk + key * p.dp, jobs.splits, stride, p.d, pass.dk + key * p.key_stride() + p.key_at(pair));
  write_row(from.dv + key * p.ep, jobs.splits, stride, p.e, pass.dv + key * p.value_stride() + p.value_at(pair));
}

template <class T, class G>
void run(const Pass<T, G>& pass, const Jobs& jobs, std::byte* workspace) {
  using A = accum_t<T>;
  const AttentionPlan& p = pass.p;
  std::byte* grads = workspace + p.threads * jobs.scratch_bytes;
  const auto grads_at = [&](i64 i) {
    A* at = reinterpret_cast<A*>(grads + i * jobs.grads_bytes);
    return KeyGrads<A>{at, at + p.t * p.dp};
  };
  const i64 count = jobs.count();
  const BiasGrads<A> relative(p, reinterpret_cast<A*>(workspace + jobs.bytes(p.threads)));
  if (pass.table) spread_table(p, pass.table, relative.bias);
  parallel_for(p.threads, 1, [&](i64 part) {
    Scratch<A> w(p, reinterpret_cast<A*>(workspace + part * jobs.scratch_bytes));
    for (i64 job = count * part / p.threads; job < count * (part + 1) / p.threads; ++job) {
      const i64 pair = job / jobs.splits;
      const KeyGrads<A> to = grads_at(jobs.splits == 1 ? part : job);
      pack_rows(pass.k + p.key_at(pair), p.key_stride(), p.t, p.d, A(1), w.k);
      pack_rows(pass.v + p.value_at(pair), p.value_stride(), p.t, p.e, A(1), w.v);
      std::fill(to.dk, to.dk + p.t * (p.dp + p.ep), A(0));
      relative.begin(p, part);
      const ItemRange mine = share(p, {pair * p.r, (pair + 1) * p.r}, job % jobs.splits, jobs.splits);
      for (i64 i = mine.begin; i < mine.end; ++i) run_item(pass, item_of(p, i), w, to, relative, part);
      relative.end(p, part, job);
      for (i64 key = 0; jobs.splits == 1 && key < p.t; ++key) write_keys(pass, pair, key, to, jobs);
    }
  });
  if (pass.table) write_table(p, relative, jobs.splits, pass.dtable_type, pass.dtable);
  if (jobs.splits == 1) return;
  parallel_for(jobs.pairs * p.t, 64,
               [&](i64 i) { write_keys(pass, i / p.t, i % p.t, grads_at(i / p.t * jobs.splits), jobs); });
}

template <class T, class G>
Kernel attention_grad(const AttentionSpec& at, const KernelContext& context) {
  using A = accum_t<T>;
  const auto plan = std::make_shared<AttentionPlan>(plan_attention(at, context, 1, context.ins[0]));
  const Jobs jobs = cut_jobs<A>(*plan);
  const DType dtable = at.buckets ? context.outs.back().dtype : DType::f32;
  const i64 relative = BiasGrads<A>::elements(*plan, jobs.count()) * i64(sizeof(A));
  return {jobs.bytes(plan->threads) + relative, [plan, jobs, dtable](const Args& a) {
            const bool packed = plan->at.packed();
            const i64 keys = plan->packed_keys(), values = plan->packed_values();
            const T *q = a.in<T>(1), *k = packed ? q + keys : a.in<T>(2), *v = packed ? q + values : a.in<T>(3);
            G *dq = a.out<G>(0), *dk = packed ? dq + keys : a.out<G>(1), *dv = packed ? dq + values : a.out<G>(2);
            const int o = packed ? 2 : 4;
            const Limits limits = limits_of(plan->at, a, o + 2);
            Pass<T, G> pass{*plan,          a.in<T>(0),       q,      k,  v,  a.in<T>(o),
                            a.in<A>(o + 1), a.in<i64>(o + 2), limits, dq, dk, dv};
            if (plan->at.buckets) {
              pass.table = a.in<T>(o + 2 + plan->at.table_at());
              pass.dtable = a.outs.back(), pass.dtable_type = dtable;
            }
            run(pass, jobs, a.workspace);
          }};
}

}  // namespace

Kernel prepare(const AttentionGrad& op, const KernelContext& context) {
  return dispatch_float(context.ins[1].dtype, [&]<class T>() { return attention_grad<T, T>(op.at, context); });
}

Kernel prepare(const AttentionPartGrad& op, const KernelContext& context) {
  return dispatch_float(context.ins[1].dtype, [&]<class T>() { return attention_grad<T, accum_t<T>>(op.at, context); });
}

}  // namespace megalith::cpu
