// Attention over several ranks: each has a part of the batch, the heads or the queries.
#include "tests/kernels/attention_case.h"

namespace megalith::kernel_tests {

// The layouts of the inputs: the dims of q, from which the others follow.
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

// The results of each rank equal its part of the full results. dk and dv are terms of a sum.
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
    // Other tile boundaries may change the rounding of sums.
    expect_near(mine[0], slice(y[0], lq, at).x, {t, 64, 2}, "o");
    expect_near(mine[1], slice(y[1], llse, at).x, {t, 64, 2}, "lse");
    const auto grads = run_checked(AttentionGrad{c.at}, {dout, q, k, v, mine[0], mine[1], rows, starts}, at);
    expect_near(grads[0], slice(g[0], lq, at).x, {t, 256, 4}, "dq");
    Array index = c.k;  // global index of each element of this rank
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
    compare_split({"tp_kv", make_mesh({1, 1, 2, 1}), {}, {}, {{groups::kv_heads}}, {}}, t);
    compare_split({"tp_rep", make_mesh({1, 1, 1, 2}), {}, {}, {}, {{groups::query_heads}}}, t);
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

// Queries split over cp, with sizes that GPUs have tensor-core kernels for. Each rank is compared with the definition
// of the full attention. A rank's terms of dk and dv are those of a loss that depends only on its queries.
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

// Chunks are no multiples of any tile. The two chunks of the last rank form one run.
TEST(Attention, ranks_with_parts_of_the_queries) {
  for (const Sizes& n : {Sizes{272, 2, 2, 1, 64}, {272, 1, 1, 4, 128}}) {
    const Case c = make_case(DType::bf16, n);
    for (int ranks : {2, 4, 8}) compare_parts(c, ranks, Order::zigzag);
    compare_parts(c, 4, Order::block);
  }
  compare_parts(make_case(DType::bf16, {272, 1, 1, 2, 64}, {.window = 100}), 4, Order::zigzag);
}

}  // namespace megalith::kernel_tests
