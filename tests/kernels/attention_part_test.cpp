// Compares the parts of a ring with attention over all keys, which has its own tests. The parts of one rank in turn
// give its results over all keys. The gradients of the parts, placed by their types, sum to the full gradients.
#include "ops/attention_part.h"

#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  i64 s = 48, b = 2, g = 2, r = 3, d = 20;
};

struct RingCase {
  DType dtype;
  AttentionSpec at;
  int ranks;
  Order order;
  Sizes n = {};
};

struct Whole {
  Array q, k, v, rows, starts, dout, o, lse, dq, dk, dv;
};

void add_starts(const AttentionSpec& at, std::vector<Array>& ins, const Array& starts) {
  if (at.starts) ins.push_back(starts);
}

Whole whole_of(const RingCase& c) {
  Whole w;
  const auto [s, b, g, r, d] = c.n;
  w.q = normals(c.dtype, {s, b, g, r, d}, 1), w.dout = normals(c.dtype, {s, b, g, r, d}, 4);
  w.k = normals(c.dtype, {s, b, g, d}, 2), w.v = normals(c.dtype, {s, b, g, d}, 3);
  w.rows = array(DType::i64, {b}, [](i64 i) { return double(i * 1009 + 5); });
  w.starts = array(DType::i32, {s, b}, [samples = b](i64 i) { return double(i / samples / 13 * 13); });
  std::vector<Array> ins = {w.q, w.k, w.v, w.rows};
  add_starts(c.at, ins, w.starts);
  const auto y = run_quick(Attention{c.at}, ins);
  w.o = y[0], w.lse = y[1];
  std::vector<Array> grad_ins = {w.dout, w.q, w.k, w.v, w.o, w.lse, w.rows};
  add_starts(c.at, grad_ins, w.starts);
  const auto grads = run_quick(AttentionGrad{c.at}, grad_ins);
  w.dq = grads[0], w.dk = grads[1], w.dv = grads[2];
  return w;
}

// The layout of [s, ...] split along the sequence.
Layout cut(const RingCase& c, size_t ndim, int rotated = 0) {
  Layout l = megalith::whole(ndim);
  l.dims[0] = {{groups::context, c.order, rotated}};
  return l;
}

// Adds a rank's part to the full array.
void add_to(std::vector<double>& sum, const Array& part, const Place& at) {
  const auto index = indices(at.mesh, part.type.shape, part.type.layout, at.coord, 0);
  const i64 row = count(part.type.shape) / part.type.shape[0];
  for (size_t i = 0; i < index.size(); ++i)
    for (i64 x = 0; x < row; ++x) sum[size_t(index[i] * row + x)] += part.x[i * size_t(row) + size_t(x)];
}

std::vector<Array> forward(const RingCase& c, const Whole& w, const Place& at) {
  std::vector<Array> y;
  for (int step = 0; step < c.ranks; ++step) {
    const Layout keys = cut(c, 4, step);
    std::vector<Array> ins = {slice(w.q, cut(c, 5), at), slice(w.k, keys, at), slice(w.v, keys, at), w.rows};
    add_starts(c.at, ins, slice(w.starts, cut(c, 2), at));
    ins.insert(ins.end(), y.begin(), y.end());
    y = run_checked(AttentionPart{c.at, c.ranks, step > 0, step + 1 == c.ranks}, ins, at);
  }
  return y;
}

struct Tolerances {
  Tolerance o, lse, gradient;
};
// The sum of the roundings of scores and values, as in attention_test.cpp. Gradients use the stored o. Both the parts
// and the full computation round probabilities. Parts may be stored before they are merged.
Tolerances tolerances(const RingCase& c) {
  const double unit = arithmetic_error(c.dtype), from_p = 2 * probability_error(c.dtype) / unit;
  const double stored = size_of(c.dtype) == 2 ? storage_error(c.dtype) / unit : 0;
  return {{c.dtype, 64 + stored + 2 * from_p, 2}, {c.dtype, 64, 2}, {c.dtype, 256 + 4 * from_p, 4}};
}

void compare(const RingCase& c) {
  SCOPED_TRACE(fmt::format("{} {} s {} d {} ranks {} {}", name_of(c.dtype), AnyOp(Attention{c.at}).print(), c.n.s,
                           c.n.d, c.ranks, c.order == Order::zigzag ? "zigzag" : "blocks"));
  const Whole w = whole_of(c);
  const Tolerances tol = tolerances(c);
  std::vector<double> dq(w.dq.x.size(), 0), dk(w.dk.x.size(), 0), dv = dk;
  const Mesh mesh = make_mesh({1, c.ranks, 1, 1});
  for (int rank = 0; rank < c.ranks; ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    const auto y = forward(c, w, at);
    const Array o = slice(w.o, cut(c, 5), at), lse = slice(w.lse, cut(c, 4), at);
    expect_near(y[0], o.x, tol.o, "o");
    expect_near(y[1], lse.x, tol.lse, "lse");
    for (int step = 0; step < c.ranks; ++step) {
      const Layout keys = cut(c, 4, step);
      std::vector<Array> ins = {slice(w.dout, cut(c, 5), at),
                                slice(w.q, cut(c, 5), at),
                                slice(w.k, keys, at),
                                slice(w.v, keys, at),
                                o,
                                lse,
                                w.rows};
      add_starts(c.at, ins, slice(w.starts, cut(c, 2), at));
      const auto g = run_checked(AttentionPartGrad{c.at, c.ranks}, ins, at);
      EXPECT_EQ(g[0].type.dtype, accum_of(c.dtype));
      add_to(dq, g[0], at), add_to(dk, g[1], at), add_to(dv, g[2], at);
    }
  }
  expect_near(w.dq, dq, tol.gradient, "dq");
  expect_near(w.dk, dk, tol.gradient, "dk");
  expect_near(w.dv, dv, tol.gradient, "dv");
}

void compare_all(const std::vector<AttentionSpec>& specs) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : specs) compare({t, at, 4, Order::zigzag});
}

}  // namespace

TEST(AttentionPart, parts_of_a_ring_are_the_whole) {
  for (DType t : tested_dtypes())
    for (int ranks : {1, 2, 3})
      for (Order order : {Order::zigzag, Order::block}) compare({t, {.scale = 0.3}, ranks, order});
}

TEST(AttentionPart, windows) { compare_all({{.scale = 0.3, .window = 1}, {.scale = 0.3, .window = 19}}); }

TEST(AttentionPart, alibi_and_documents) {
  compare_all({{.scale = 0.3, .alibi = true}, {.scale = 0.3, .starts = true}});
  // Rounded biases depend on global positions.
  for (DType t : tested_dtypes())
    compare({t, {.scale = 0.3, .alibi = true, .alibi_scaled = true}, 2, Order::zigzag, {560, 1, 3, 4, 8}});
}

TEST(AttentionPart, dropout) {
  compare_all({{.scale = 0.3, .dropout = 0.3, .seed = 99},
               {.scale = 0.3, .window = 17, .alibi = true, .dropout = 0.2, .seed = 5, .starts = true}});
}

// Head sizes that GPUs have tensor-core kernels for. Chunks are multiples of tiles and not; heads use all kinds of
// kernels.
TEST(AttentionPart, wide_heads) {
  for (int ranks : {2, 3}) {
    compare({DType::bf16, {.scale = 0.1}, ranks, Order::zigzag, {128 * 2 * ranks, 1, 2, 2, 64}});
    compare({DType::bf16, {.scale = 0.1}, ranks, Order::zigzag, {128 * 2 * ranks, 2, 1, 4, 128}});
    compare({DType::bf16, {.scale = 0.1}, ranks, Order::block, {256 * ranks, 1, 2, 1, 128}});
    compare({DType::bf16, {.scale = 0.1}, ranks, Order::zigzag, {34 * 2 * ranks, 2, 1, 2, 128}});
  }
  for (DType t : tested_dtypes())
    for (i64 d : {72, 256})
      for (bool starts : {false, true})
        compare({t, {.scale = 0.1, .starts = starts}, 2, Order::zigzag, {140, 1, 1, 2, d}});
}

// The first part has the largest, or the smallest, scores. So its earlier result is scaled down to nothing, or stays.
TEST(AttentionPart, large_scores_stay_finite) {
  for (DType t : tested_dtypes())
    for (double by : {300.0, -300.0}) {
      const RingCase c{t, {.scale = 0.1}, 2, Order::zigzag, {256, 1, 1, 2, 64}};
      Whole w = whole_of(c);
      for (double& x : w.q.x) x = rounded(t, by * x);
      const Mesh mesh = make_mesh({1, 2, 1, 1});
      for (int rank : {0, 1})
        for (const Array& y : forward(c, w, {mesh, mesh.coord(rank)}))
          for (double x : y.x) ASSERT_TRUE(std::isfinite(x));
    }
}

// A query that has seen no key so far has o = 0 and lse = -inf.
TEST(AttentionPart, queries_that_see_no_key_go_on_from_nothing) {
  const RingCase c{DType::f32, {.scale = 0.3}, 2, Order::block};
  const Whole w = whole_of(c);
  const Mesh mesh = make_mesh({1, 2, 1, 1});
  const Place at{mesh, mesh.coord(0)};  // its queries precede the other rank's keys
  const Array q = slice(w.q, cut(c, 5), at);
  const auto part = [&](int rotated, std::vector<Array> before) {
    const Layout keys = cut(c, 4, rotated);
    std::vector<Array> ins = {q, slice(w.k, keys, at), slice(w.v, keys, at), w.rows};
    ins.insert(ins.end(), before.begin(), before.end());
    return run_checked(AttentionPart{c.at, 2, !before.empty(), false}, ins, at);
  };
  const auto nothing = part(1, {});
  for (double x : nothing[0].x) ASSERT_EQ(x, 0);
  for (double x : nothing[1].x) ASSERT_EQ(x, -INFINITY);
  const auto all = part(0, nothing), first = part(0, {});
  EXPECT_EQ(all[0].x, first[0].x);
  EXPECT_EQ(part(1, first)[0].x, first[0].x);
}

// Types must split both or neither over the ring's axis.
TEST(AttentionPart, refuses_keys_that_do_not_lie_with_the_queries) {
  const Mesh mesh = make_mesh({1, 2, 2, 1});
  const auto infer = [&](const AxisList& s, const AxisList& t) {
    const Layout q{{s, {}, {}, {}, {}}, {}, {}, {}}, k{{t, {}, {}, {}}, {}, {}, {}};
    const std::vector<Type> ins = {{DType::bf16, {16, 2, 2, 3, 4}, q},
                                   {DType::bf16, {16, 2, 2, 4}, k},
                                   {DType::bf16, {16, 2, 2, 4}, k},
                                   {DType::i64, {2}, megalith::whole(1)}};
    return AnyOp(AttentionPart{}).infer({mesh, ins, {true, true, true, false}});
  };
  const SplitOver ring{groups::context, Order::zigzag}, moved{groups::context, Order::zigzag, 1};
  const auto out = infer({ring}, {moved});
  EXPECT_EQ(out[0].layout.dims[0], (AxisList{ring}));
  EXPECT_EQ(out[0].dtype, DType::f32);
  EXPECT_THROW(infer({ring}, {}), Error);
  EXPECT_THROW(infer({}, {ring}), Error);
  EXPECT_THROW(infer({ring}, {moved, {groups::kv_heads}}), Error);
}

}  // namespace megalith::kernel_tests
