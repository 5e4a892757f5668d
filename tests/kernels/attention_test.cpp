#include "tests/kernels/run_op.h"

#include "base/threads.h"
#include "tests/kernels/alibi.h"

namespace megalith::kernel_tests {

struct Sizes {
  i64 s, b, g, r, d, t = 0, v = 0;
  i64 keys() const { return t ? t : s; }
  i64 values() const { return v ? v : d; }  // size of one
};

struct Case {
  AttentionSpec at;
  Sizes n;
  DType dtype;
  Array q, k, v, rows, starts, lengths, dout;

  std::vector<Array> forward_ins() const {
    std::vector<Array> ins = {q, k, v, rows};
    if (at.starts) ins.push_back(starts);
    if (at.lengths) ins.push_back(lengths);
    return ins;
  }
  std::vector<Array> backward_ins(const Array& o, const Array& lse) const {
    std::vector<Array> ins = {dout, q, k, v, o, lse, rows};
    if (at.starts) ins.push_back(starts);
    if (at.lengths) ins.push_back(lengths);
    return ins;
  }
};

static Case make_case(DType t, const Sizes& n, AttentionSpec at = {}) {
  at.scale = 1.3 / std::sqrt(double(n.d));
  Case c{at, n, t, normals(t, {n.s, n.b, n.g, n.r, n.d}, 1), normals(t, {n.keys(), n.b, n.g, n.d}, 2),
         normals(t, {n.keys(), n.b, n.g, n.values()}, 3),
         array(DType::i64, {n.b}, [](i64 i) { return double(i * 1009 + 5); }),
         // Documents of 7, 8, 9.. positions, cut elsewhere in each sample.
         array(DType::i32, {n.s, n.b},
               [&](i64 i) { return std::max<double>(0, double(i / n.b - (i / n.b + i % n.b) % (7 + i % n.b))); }),
         // The first sequence is whole, the next has no key, the others end somewhere.
         array(DType::i32, {n.b}, [&](i64 i) { return double(i == 0 ? n.keys() : (i - 1) * n.keys() * 2 / 3); }),
         normals(t, {n.s, n.b, n.g, n.r, n.values()}, 4)};
  return c;
}

// The plain definition, in double, over the whole s x s matrix.
struct Plain {
  std::vector<double> o, lse, dq, dk, dv;
};
static Plain plain(const Case& c) {
  const auto [s, b, g, r, d, _, __] = c.n;
  const i64 t = c.n.keys(), of_v = c.n.values();
  const std::vector<double> slopes = alibi_slopes(g * r);
  Plain out;
  out.o.assign(c.dout.x.size(), 0), out.lse.assign(size_t(s * b * g * r), 0), out.dq.assign(c.q.x.size(), 0);
  out.dk.assign(c.k.x.size(), 0), out.dv.assign(c.v.x.size(), 0);
  const auto key_row = [&](i64 j, i64 bi, i64 gi) { return ((j * b + bi) * g + gi) * d; };
  const auto value_row = [&](i64 j, i64 bi, i64 gi) { return ((j * b + bi) * g + gi) * of_v; };
  for (i64 i = 0; i < s; ++i)
    for (i64 head = 0; head < b * g * r; ++head) {
      const i64 bi = head / (g * r), gi = head / r % g, ri = head % r, row = i * b * g * r + head;
      i64 lo = c.at.window > 0 ? std::max<i64>(0, i - c.at.window + 1) : 0;
      if (c.at.starts) lo = std::max(lo, i64(c.starts[i * b + bi]));
      const i64 hi = std::min(c.at.causal ? i + 1 : t, c.at.lengths ? i64(c.lengths[bi]) : t);
      std::vector<double> p(size_t(t), 0), keep(size_t(t), 1), dp(size_t(t), 0);
      double sum = 0, mean = 0;
      for (i64 j = lo; j < hi; ++j) {
        double x = c.at.alibi ? alibi_bias(c.at, slopes[gi * r + ri], j, i) : 0;
        for (i64 e = 0; e < d; ++e) x += c.at.scale * c.q[row * d + e] * c.k[key_row(j, bi, gi) + e];
        sum += p[j] = std::exp(x);
        const u64 h = mix_all(c.at.seed, i64(c.rows[bi]), gi, ri, i, j);
        if (c.at.dropout > 0) keep[j] = unit(h) >= c.at.dropout ? 1 / (1 - c.at.dropout) : 0;
      }
      out.lse[row] = std::log(sum);
      for (i64 j = lo; j < hi; ++j) {
        p[j] /= sum;
        const i64 vr = value_row(j, bi, gi);
        for (i64 e = 0; e < of_v; ++e) {
          out.o[row * of_v + e] += p[j] * keep[j] * c.v[vr + e];
          out.dv[vr + e] += p[j] * keep[j] * c.dout[row * of_v + e];
          dp[j] += keep[j] * c.dout[row * of_v + e] * c.v[vr + e];
        }
        mean += p[j] * dp[j];
      }
      for (i64 j = lo; j < hi; ++j)
        for (i64 e = 0; e < d; ++e) {
          const i64 kr = key_row(j, bi, gi);
          const double ds = c.at.scale * p[j] * (dp[j] - mean);
          out.dq[row * d + e] += ds * c.k[kr + e];
          out.dk[kr + e] += ds * c.q[row * d + e];
        }
    }
  return out;
}

struct Tolerances {
  Tolerance o, lse, gradient;
};
static Tolerances tolerances(const Case& c) {
  // Scores of size 5 are rounded to 5 * 2^-24 and more by sums over d; results are means of numbers of size 4.
  const double roundings = 32 + std::sqrt(double(c.n.d)) * 4;
  // Probabilities are rounded too: of a mean of values of size 4, and of sums of several such means in the gradient.
  const double from_p = probability_error(c.dtype) / arithmetic_error(c.dtype);
  // The gradient gets exact o and lse, rounded to their types: o's rounding comes back through D = sum do * o, of d
  // terms.
  const double from_o = c.dtype == DType::bf16 ? storage_error(DType::bf16) / arithmetic_error(DType::bf16) : 0;
  return {{c.dtype, roundings + 2 * from_p, 2},
          {c.dtype, roundings, 2},
          {c.dtype, 4 * (roundings + from_p) + from_o * std::sqrt(double(c.n.d)), 4 + std::sqrt(double(c.n.r))}};
}

static std::string print(const Case& c) {
  return fmt::format("{} {} s {} b {} g {} r {} d {}", name_of(c.dtype), AnyOp(Attention{c.at}).print(), c.n.s, c.n.b,
                     c.n.g, c.n.r, c.n.d) +
         (c.n.v ? fmt::format(" v {}", c.n.v) : "");
}

static void compare(const Case& c) {
  SCOPED_TRACE(print(c));
  const Plain want = plain(c);
  const Tolerances tol = tolerances(c);
  auto y = run_checked(Attention{c.at}, c.forward_ins());
  expect_near(y[0], want.o, tol.o, "o");
  std::vector<double> finite = want.lse;
  for (size_t i = 0; i < finite.size(); ++i)
    if (std::isinf(finite[i])) {
      EXPECT_EQ(y[1].x[i], finite[i]) << "of a query without keys";
      y[1].x[i] = finite[i] = 0;
    }
  expect_near(y[1], finite, tol.lse, "lse");
  const Array o = array(c.dtype, c.dout.type.shape, [&](i64 i) { return want.o[i]; });
  const Array lse = array(accum_of(c.dtype), y[1].type.shape, [&](i64 i) { return want.lse[i]; });
  const auto g = run_checked(AttentionGrad{c.at}, c.backward_ins(o, lse));
  expect_near(g[0], want.dq, tol.gradient, "dq");
  expect_near(g[1], want.dk, tol.gradient, "dk");
  expect_near(g[2], want.dv, tol.gradient, "dv");
}

TEST(Attention, is_its_definition) {
  for (DType t : tested_dtypes())
    for (i64 s : {1, 5, 33, 65, 130})
      for (i64 d : {4, 8, 40, 64}) compare(make_case(t, {s, 2, 2, s == 33 ? 3 : 1, d}));
}

TEST(Attention, features) {
  const std::vector<AttentionSpec> specs = {{.window = 1},
                                            {.window = 7},
                                            {.window = 70},
                                            {.alibi = true},
                                            {.alibi = true, .alibi_scaled = true},
                                            {.starts = true},
                                            {.dropout = 0.3, .seed = 99},
                                            {.window = 40, .alibi = true, .dropout = 0.2, .seed = 5, .starts = true}};
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : specs)
      for (i64 s : {5, 33, 130}) compare(make_case(t, {s, 2, 2, 3, 8}, at));
}

// Not causal, of one sequence or of two, and of sequences that end early.
TEST(Attention, masks) {
  const std::vector<AttentionSpec> specs = {{.causal = false},
                                            {.causal = false, .lengths = true},
                                            {.causal = false, .dropout = 0.2, .seed = 5, .lengths = true},
                                            {.lengths = true},
                                            {.window = 9, .starts = true, .lengths = true}};
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : specs)
      for (i64 s : {1, 33, 130})
        for (i64 keys : {s, s / 2 + 1, 2 * s + 7})
          if (!at.causal || keys == s) compare(make_case(t, {s, 3, 2, 2, t == DType::bf16 ? 64 : 8, keys}, at));
  for (bool lengths : {false, true}) {
    compare(make_case(DType::bf16, {130, 3, 1, 2, 128, 257}, {.causal = false, .lengths = lengths}));
    compare(make_case(DType::bf16, {384, 3, 1, 2, 128}, {.causal = false, .lengths = lengths}));
  }
}

TEST(Attention, masks_that_do_not_go_together_are_refused) {
  const Case c = make_case(DType::f32, {4, 1, 1, 1, 8});
  for (AttentionSpec at : {AttentionSpec{.causal = false, .window = 2}, {.causal = false, .alibi = true}})
    EXPECT_THROW(run_quick(Attention{at}, c.forward_ins()), Error);
}

// Twelve heads have slopes that are no powers of two, and positions above 256 are no numbers of bf16.
TEST(Attention, rounded_biases) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{.alibi = true, .alibi_scaled = true},
                                    {.window = 70, .alibi = true, .alibi_scaled = true, .starts = true}})
      compare(make_case(t, {600, 1, 3, 4, 8}, at));
}

TEST(Attention, long_sequence_and_wide_heads) {
  compare(make_case(DType::f32, {300, 1, 1, 2, 128}));
  compare(make_case(DType::f32, {300, 1, 1, 1, 20}, {.window = 100}));
}

// Of multi-head latent attention values are smaller; wider ones are possible.
TEST(Attention, values_of_another_size) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{}, {.window = 40, .dropout = 0.2, .seed = 5, .starts = true}})
      for (i64 s : {1, 33, 130})
        for (auto [d, v] : {std::pair<i64, i64>{24, 20}, {20, 24}, {7, 3}, {64, 40}})
          compare(make_case(t, {s, 2, 2, 2, d, 0, v}, at));
  compare(make_case(DType::bf16, {200, 2, 4, 1, 192, 0, 128}));
  compare(make_case(DType::bf16, {384, 1, 4, 1, 192, 0, 128}));
  compare(make_case(DType::f32, {130, 1, 2, 1, 192, 0, 128}));
}

// Heads as wide as models have them, by both of a GPU's ways (cuDNN takes bf16 without starts).
TEST(Attention, head_sizes) {
  for (DType t : tested_dtypes())
    for (i64 d : {12, 72, 128, 256})
      for (bool starts : {false, true}) compare(make_case(t, {130, 1, 2, 2, d}, {.starts = starts}));
}

// The sizes that GPUs have kernels of tensor cores for, at tiles' edges.
TEST(Attention, tiles_of_tensor_cores) {
  for (i64 d : {64, 128})
    for (i64 s : {2, 130, 257, 384})
      for (i64 r : {1, 4}) compare(make_case(DType::bf16, {s, 2, r == 1 ? 2 : 1, r, d}));
}

// More tiles than a GPU has multiprocessors.
TEST(Attention, many_heads) {
  for (i64 d : {64, 128}) compare(make_case(DType::bf16, {130, 10, 7, 2, d}));
}

TEST(Attention, windows_of_wide_heads) {
  for (i64 window : {1, 60, 128, 1000})
    for (bool starts : {false, true})
      compare(make_case(DType::bf16, {260, 1, 2, 4, 64}, {.window = window, .starts = starts}));
}

TEST(Attention, large_scores_stay_finite) {
  Case c = make_case(DType::f32, {70, 1, 1, 1, 8});
  for (double& x : c.q.x) x *= 300;
  const auto y = run_checked(Attention{c.at}, c.forward_ins());
  for (double v : y[0].x) EXPECT_TRUE(std::isfinite(v));
  for (double v : y[1].x) EXPECT_TRUE(std::isfinite(v));
  for (const Array& g : run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1])))
    for (double v : g.x) EXPECT_TRUE(std::isfinite(v));
}

TEST(Attention, nan_is_not_hidden) {
  Case c = make_case(DType::f32, {20, 1, 1, 1, 8});
  c.q[3 * 8] = NAN;
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  EXPECT_TRUE(std::isnan(y[0][3 * 8]));
  EXPECT_FALSE(std::isnan(y[0][2 * 8]));
}

// q, k and v as one tensor [s,b,j,d]: query heads, key heads, value heads.
static Array packed(const Sizes& n, const Array& q, const Array& k, const Array& v) {
  const i64 heads = n.g * n.r, rows = n.s * n.b;
  Array out{{q.type.dtype, {n.s, n.b, heads + 2 * n.g, n.d}, whole(4)}, {}};
  for (i64 row = 0; row < rows; ++row)
    for (const auto& [part, width] : {std::pair{&q, heads * n.d}, {&k, n.g * n.d}, {&v, n.g * n.d}})
      out.x.insert(out.x.end(), part->x.begin() + row * width, part->x.begin() + (row + 1) * width);
  return out;
}

TEST(Attention, packed_gives_the_same_bits) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{}, {.window = 7}, {.alibi = true, .dropout = 0.2, .starts = true}})
      for (const Sizes& n : {Sizes{33, 2, 2, 3, 8}, {70, 2, 3, 1, 64}, {130, 2, 1, 4, 128}}) {
        const Case c = make_case(t, n, at);
        const auto y = run_checked(Attention{c.at}, c.forward_ins());
        const auto g = run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
        AttentionSpec one = c.at;
        one.groups = n.g, one.heads_per_group = n.r;
        const Array qkv = packed(n, c.q, c.k, c.v);
        std::vector<Array> ins = {qkv, c.rows}, grad_ins = {c.dout, qkv, y[0], y[1], c.rows};
        if (at.starts) ins.push_back(c.starts), grad_ins.push_back(c.starts);
        const auto packed_y = run_checked(Attention{one}, ins);
        EXPECT_EQ(packed_y[0].x, y[0].x);
        EXPECT_EQ(packed_y[1].x, y[1].x);
        EXPECT_EQ(run_checked(AttentionGrad{one}, grad_ins)[0].x, packed(n, g[0], g[1], g[2]).x);
      }
}

TEST(Attention, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (const AttentionSpec& at :
       {AttentionSpec{}, AttentionSpec{.window = 3, .alibi = true, .dropout = 0.25, .seed = 3, .starts = true}}) {
    const Case c = make_case(DType::f64, {9, 2, 2, 2, 3}, at);
    std::vector<Array> ins = c.forward_ins();
    const auto y = run_quick(Attention{c.at}, ins);
    const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
    for (int i : {0, 1, 2})
      expect_gradient(ins, i, g[i], [&] { return dot(run_quick(Attention{c.at}, ins)[0].x, c.dout.x); });
  }
}

// How each input lies: q's dims, and what the others' layouts follow from.
struct Split {
  std::string name;
  Mesh mesh;
  AxisList s, b, g, r;

  Layout q() const { return {{s, b, g, r, {}}, {}, {}, {}}; }
  Layout k() const {
    Layout l{{{}, b, g, {}}, {}, {}, {}};
    for (const AxisList& list : {s, r}) l.copy.insert(list.axes());
    return l;
  }
};

// Each rank's results equal its part of the whole; dk and dv are parts of a sum.
static void compare_split(const Split& split, DType t) {
  SCOPED_TRACE(split.name);
  const Case c =
      make_case(t, {132, 2, 2, 2, 8}, {.window = 90, .alibi = true, .dropout = 0.2, .seed = 5, .starts = true});
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
  const Layout lq = split.q(), lk = split.k(), lb{{split.b}, {}, {}, {}}, lsb{{split.s, split.b}, {}, {}, {}};
  const Layout llse{{split.s, split.b, split.g, split.r}, {}, {}, {}};
  std::vector<std::vector<double>> sums(2, std::vector<double>(c.k.x.size(), 0));
  for (int rank = 0; rank < split.mesh.num_ranks(); ++rank) {
    const Place at{split.mesh, split.mesh.coord(rank)};
    const Array q = slice(c.q, lq, at), k = slice(c.k, lk, at), v = slice(c.v, lk, at), rows = slice(c.rows, lb, at);
    const Array starts = slice(c.starts, lsb, at), dout = slice(c.dout, lq, at);
    const auto mine = run_checked(Attention{c.at}, {q, k, v, rows, starts}, at);
    // Tiles of queries are cut elsewhere, so sums may round otherwise.
    expect_near(mine[0], slice(y[0], lq, at).x, {t, 64, 2}, "o");
    expect_near(mine[1], slice(y[1], llse, at).x, {t, 64, 2}, "lse");
    const auto grads = run_checked(AttentionGrad{c.at}, {dout, q, k, v, mine[0], mine[1], rows, starts}, at);
    expect_near(grads[0], slice(g[0], lq, at).x, {t, 256, 4}, "dq");
    Array index = c.k;  // where each element of this rank belongs
    for (size_t i = 0; i < index.x.size(); ++i) index.x[i] = double(i);
    const Array where = slice(index, lk, at);
    for (int out : {0, 1})
      for (size_t i = 0; i < where.x.size(); ++i) sums[out][size_t(where.x[i])] += grads[1 + out].x[i];
  }
  expect_near(g[1], sums[0], {t, 256, 4}, "dk");
  expect_near(g[2], sums[1], {t, 256, 4}, "dv");
}

TEST(Attention, ranks_compute_parts_of_the_whole) {
  for (DType t : {DType::f32, DType::f64}) {
    if (!tested(t)) continue;
    compare_split({"tk", make_mesh({1, 1, 2, 1}), {}, {}, {{groups::kv_heads}}, {}}, t);
    compare_split({"tr", make_mesh({1, 1, 1, 2}), {}, {}, {}, {{groups::query_heads}}}, t);
    compare_split({"dp", make_mesh({2, 1, 1, 1}), {}, {{groups::data}}, {}, {}}, t);
    compare_split({"cp", make_mesh({1, 2, 1, 1}), {{groups::context}}, {}, {}, {}}, t);
    compare_split({"cp zigzag", make_mesh({1, 2, 1, 1}), {{groups::context, Order::zigzag}}, {}, {}, {}}, t);
    compare_split({"all",
                   make_mesh({2, 2, 2, 2}),
                   {{groups::context, Order::zigzag}},
                   {{groups::data}},
                   {{groups::kv_heads}},
                   {{groups::query_heads}}},
                  t);
  }
}

// Queries split over cp, as GPUs have tensor cores for them: each rank's results against the definition of the whole.
// What a rank adds to dk and dv is what they would be if the loss did not depend on the other ranks' queries.
static void compare_parts(const Case& c, int ranks, Order order) {
  SCOPED_TRACE(fmt::format("{}, {} ranks, {}", print(c), ranks, order == Order::zigzag ? "zigzag" : "blocks"));
  const Mesh mesh = make_mesh({1, ranks, 1, 1});
  const Split split{"", mesh, {{groups::context, order}}, {}, {}, {}};
  const Layout lq = split.q(), lk = split.k(), lse_layout{{split.s, {}, {}, {}}, {}, {}, {}};
  const Plain want = plain(c);
  const Array o = array(c.dtype, c.q.type.shape, [&](i64 i) { return want.o[size_t(i)]; });
  const Array lse = array(accum_of(c.dtype), {c.n.s, c.n.b, c.n.g, c.n.r}, [&](i64 i) { return want.lse[size_t(i)]; });
  const Tolerances tol = tolerances(c);
  const auto of = [](const Array& like, const std::vector<double>& x) { return Array{like.type, x}; };
  for (int rank = 0; rank < ranks; ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    const Array q = slice(c.q, lq, at), k = slice(c.k, lk, at), v = slice(c.v, lk, at);
    const Array rows = slice(c.rows, Layout{{{}}, {}, {}, {}}, at);
    const auto y = run_checked(Attention{c.at}, {q, k, v, rows}, at);
    expect_near(y[0], slice(of(o, want.o), lq, at).x, tol.o, fmt::format("o of rank {}", rank));
    expect_near(y[1], slice(of(lse, want.lse), lse_layout, at).x, tol.lse, fmt::format("lse of rank {}", rank));
    const std::vector<Array> ins = {slice(c.dout, lq, at), q, k, v, slice(o, lq, at), slice(lse, lse_layout, at), rows};
    const auto g = run_checked(AttentionGrad{c.at}, ins, at);
    Case mine = c;
    std::fill(mine.dout.x.begin(), mine.dout.x.end(), 0);
    for (i64 i : indices(mesh, c.q.type.shape, lq, at.coord, 0))
      std::copy_n(c.dout.x.begin() + i * i64(c.q.x.size()) / c.n.s, i64(c.q.x.size()) / c.n.s,
                  mine.dout.x.begin() + i * i64(c.q.x.size()) / c.n.s);
    const Plain parts = plain(mine);
    expect_near(g[0], slice(of(c.q, parts.dq), lq, at).x, tol.gradient, fmt::format("dq of rank {}", rank));
    expect_near(g[1], parts.dk, tol.gradient, fmt::format("dk of rank {}", rank));
    expect_near(g[2], parts.dv, tol.gradient, fmt::format("dv of rank {}", rank));
  }
}

// Chunks that are no multiples of any tile; the last rank's two are one run.
TEST(Attention, ranks_with_parts_of_the_queries) {
  for (const Sizes& n : {Sizes{272, 2, 2, 1, 64}, {272, 1, 1, 4, 128}}) {
    const Case c = make_case(DType::bf16, n);
    for (int ranks : {2, 4, 8}) compare_parts(c, ranks, Order::zigzag);
    compare_parts(c, 4, Order::block);
  }
  compare_parts(make_case(DType::bf16, {272, 1, 1, 2, 64}, {.window = 100}), 4, Order::zigzag);
}

TEST(Attention, any_thread_count) {
  const Case c = make_case(DType::f32, {200, 1, 2, 2, 16}, {.window = 150});
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
  const int threads = num_threads();
  for (int n : {1, 3, 8}) {
    omp_set_num_threads(n);
    const auto y2 = run_checked(Attention{c.at}, c.forward_ins());
    EXPECT_EQ(y2[0].x, y[0].x);
    EXPECT_EQ(y2[1].x, y[1].x);
    const auto g2 = run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
    for (int i : {0, 1, 2}) expect_near(g2[i], g[i].x, {DType::f32, 64, 4}, "gradient");
  }
  omp_set_num_threads(threads);
}

}  // namespace megalith::kernel_tests
