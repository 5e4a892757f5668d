#include "mesh/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace megalith {

namespace {

constexpr Order kZig = Order::zigzag;

using Splits = std::vector<SplitOver>;

// The definition, on a list of numbers: each group takes its part of what the groups before it left.
std::vector<i64> plain_indices(const Mesh& m, i64 n, const Splits& splits, const Coord& c) {
  std::vector<i64> ix(n);
  std::iota(ix.begin(), ix.end(), 0);
  for (const SplitOver& use : splits) {
    const i64 ways = m.n(use.axes), k = (m.place(c, use.axes) - use.rotated + ways) % ways;
    const i64 pieces = use.order == kZig ? 2 * ways : ways, len = i64(ix.size()) / pieces;
    auto piece = [&](i64 j) { return std::vector<i64>(ix.begin() + j * len, ix.begin() + (j + 1) * len); };
    std::vector<i64> mine = piece(k);
    if (use.order == kZig)
      for (i64 i : piece(2 * ways - 1 - k)) mine.push_back(i);
    ix = mine;
  }
  return ix;
}

Layout on_dim0(AxisList axes) { return {{std::move(axes)}, {}, {}, {}}; }
AxisList list_of(const Splits& splits) {
  AxisList out;
  for (const SplitOver& s : splits) out.add(s);
  return out;
}

State state(const Layout& l, AxisSet axes) {
  for (Axis a : axes) EXPECT_EQ(l.state(a), l.state(*axes.begin()));
  return l.state(*axes.begin());
}

}  // namespace

TEST(IndexRuns, equal_the_definition_and_cover_everything_once) {
  const std::vector<Splits> lists = {
      {},
      {{groups::context}},
      {{groups::context, kZig}},
      {{groups::context}, {groups::kv_heads}},
      {{groups::context, kZig}, {groups::kv_heads}},
      {{groups::context, kZig}, {groups::kv_heads}, {groups::query_heads}},
      {{groups::kv_heads}, {groups::context, kZig}},
      {{groups::kv_heads, kZig}, {groups::context, kZig}},
      {{groups::query_heads}, {groups::data}},
      {{groups::context, Order::block, 1}},
      {{groups::context, kZig, 2}},
      {{groups::context, kZig, 1}, {groups::kv_heads}},
      {{groups::kv_heads, Order::block, 1}, {groups::context, kZig, 2}},
  };
  const std::vector<Mesh> meshes = {
      make_mesh({2, 3, 2, 2}),
      make_mesh({.dp = 2, .cp = 6, .tp_kv = 2, .tp_rep = 1, .ep = 1, .etp = 4}),    // cp is 3 x 1 x 2
      make_mesh({.dp = 2, .cp = 12, .tp_kv = 2, .tp_rep = 1, .ep = 2, .etp = 6})};  // cp is 2 x 2 x 3
  for (const Mesh& m : meshes)
    for (const Splits& axes : lists) {
      const Layout l = on_dim0(list_of(axes));
      std::vector<int> seen(144);
      for (int r = 0; r < m.num_ranks(); ++r) {
        const auto want = plain_indices(m, 144, axes, m.coord(r));
        EXPECT_EQ(indices(m, {144}, l, m.coord(r), 0), want) << to_string(l) << " rank " << r;
        EXPECT_EQ(local_shape(m, {144}, l)[0], i64(want.size()));
        for (i64 i : want) ++seen[i];
      }
      const int copies = std::accumulate(seen.begin(), seen.end(), 0) / 144;
      for (int s : seen) EXPECT_EQ(s, copies) << to_string(l);
    }
}

TEST(IndexRuns, neighbouring_parts_are_one_run) {
  const Mesh m = make_mesh({1, 2, 2, 1});
  const Layout zig = on_dim0({{groups::context, kZig}});
  EXPECT_EQ(index_runs(m, {16}, zig, m.coord(0), 0), (std::vector<megalith::Run>{{0, 4}, {12, 4}}));
  EXPECT_EQ(index_runs(m, {16}, zig, m.coord(2), 0), (std::vector<megalith::Run>{{4, 8}}));  // chunks 1 and 2 touch
  const Layout both = on_dim0({{groups::context, kZig}, {groups::kv_heads}});
  EXPECT_EQ(index_runs(m, {16}, both, m.coord(1), 0), (std::vector<megalith::Run>{{12, 4}}));
  EXPECT_EQ(index_runs(m, {16}, on_dim0({}), m.coord(1), 0), (std::vector<megalith::Run>{{0, 16}}));
}

// Handed on by one rank: rank 0 has what the last one had.
TEST(IndexRuns, rotated_parts_are_those_of_the_ranks_before) {
  const Mesh m = make_mesh({1, 4, 1, 1});
  const Layout home = on_dim0({{groups::context, kZig}}), once = on_dim0({{groups::context, kZig, 1}});
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(index_runs(m, {16}, once, m.coord((r + 1) % 4), 0), index_runs(m, {16}, home, m.coord(r), 0));
  EXPECT_EQ(index_runs(m, {16}, once, m.coord(1), 0), (std::vector<megalith::Run>{{0, 2}, {14, 2}}));
  EXPECT_EQ(to_string(once), "{cp~+1}");
  EXPECT_NE(once, home);
  EXPECT_THROW(local_shape(m, {16}, on_dim0({{groups::context, kZig, 4}})), Error);
  EXPECT_THROW(local_shape(m, {16}, on_dim0({{groups::context, kZig, -1}})), Error);
}

TEST(LocalShape, refuses_what_does_not_divide) {
  const Mesh m = make_mesh({2, 3, 2, 1});
  EXPECT_EQ(local_shape(m, {12, 5}, {{{{groups::context}, {groups::kv_heads}}, {}}, {}, {}, {}}), (Shape{2, 5}));
  EXPECT_THROW(local_shape(m, {10}, on_dim0({{groups::context}})), Error);
  EXPECT_THROW(local_shape(m, {9}, on_dim0({{groups::context, kZig}})), Error);  // 9 over 6 chunks
  EXPECT_EQ(local_shape(m, {9}, on_dim0({{groups::context}})), (Shape{3}));
  EXPECT_THROW(local_shape(m, {6}, on_dim0({{groups::context}, {groups::kv_heads}, {groups::data}})),
               Error);  // 6 / 3 / 2 / 2
  try {
    local_shape(m, {4, 10}, {{{}, {{groups::context}}}, {}, {}, {}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("10"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cp"), std::string::npos) << e.what();
  }
}

TEST(Layout, state_and_dual) {
  const Layout l{{{{groups::context, kZig}, {groups::kv_heads}}, {}}, {groups::query_heads}, {groups::data}, {}};
  EXPECT_EQ(state(l, groups::context), split(0));
  EXPECT_EQ(state(l, groups::kv_heads), split(0));
  EXPECT_EQ(state(l, groups::query_heads), kPartial);
  EXPECT_EQ(state(l, groups::data), kCopy);
  EXPECT_EQ(state(l, groups::pipeline), kSame);
  EXPECT_EQ(l.dual().dual(), l);
  for (Axis a : kAllAxes) EXPECT_EQ(l.dual().state(a), l.state(a).dual());
  EXPECT_EQ(to_string(l), "{cp~ tp_kv,  | copy dp | partial tp_rep}");
  EXPECT_EQ(to_string(whole(3)), "");
}

TEST(Layout, equality_sees_order_and_tags) {
  EXPECT_NE(on_dim0({{groups::context}, {groups::kv_heads}}), on_dim0({{groups::kv_heads}, {groups::context}}));
  EXPECT_NE(on_dim0({{groups::context}}), on_dim0({{groups::context, kZig}}));
  EXPECT_NE((Layout{{{}}, {}, {groups::kv_heads}, {}}), whole(1));
}

// Types of a mixture of experts on 8 ranks. ep is the innermost two of dp's four, with both of tp's.
TEST(Layout, of_values_that_the_expert_view_splits) {
  const Mesh m = make_mesh({.dp = 4, .tp_kv = 2, .ep = 4, .etp = 1});
  EXPECT_EQ(m.n(Axis::dp_edp), 2);
  EXPECT_EQ(m.n(Axis::dp_ep), 2);
  EXPECT_EQ(m.n(Axis::tp_kv_ep), 2);
  const Layout tokens{{{{groups::tensor}}, {{groups::data}}, {}}, {}, {}, {}};                            // [s, b, h]
  const Layout weight{{{{groups::expert}}, {{groups::expert_tensor}}, {}}, {}, groups::expert_data, {}};  // [e, f, h]
  EXPECT_EQ(to_string(tokens), "{tp_kv tp_rep, dp, }");
  EXPECT_EQ(to_string(tokens, m.used()), "{tp_kv tp_rep, dp, }");
  EXPECT_EQ(to_string(weight, m.used()), "{dp_ep tp_kv, ,  | copy dp_edp}");
  EXPECT_EQ(to_string(weight.dual(), m.used()), "{dp_ep tp_kv, ,  | partial dp_edp}");
  EXPECT_EQ(local_shape(m, {4, 8, 16}, tokens), (Shape{2, 2, 16}));
  EXPECT_EQ(local_shape(m, {8, 6, 16}, weight), (Shape{2, 6, 16}));
  EXPECT_EQ(state(weight, groups::expert), split(0));
  EXPECT_EQ(state(weight, groups::expert_data), kCopy);
  for (int r = 0; r < 8; ++r) {  // expert e lives on place e / 2 of the expert group
    const i64 first = 2 * m.place(m.coord(r), groups::expert);
    EXPECT_EQ(first, r % 4 * 2);
    EXPECT_EQ(indices(m, {8, 6, 16}, weight, m.coord(r), 0), (std::vector<i64>{first, first + 1}));
  }
}

TEST(Layout, names_a_dense_axis_unless_it_is_cut) {
  const Mesh cut = make_mesh({.cp = 4, .ep = 2, .etp = 1}), uncut = make_mesh({.cp = 4});
  const Layout zig = on_dim0({{groups::context, kZig, 1}}), part = on_dim0({{groups::expert}});
  EXPECT_EQ(to_string(zig, cut.used()), "{cp~+1}");
  EXPECT_EQ(to_string(zig, uncut.used()), "{cp~+1}");
  EXPECT_EQ(to_string(part, cut.used()), "{cp_ep}");
  EXPECT_EQ(to_string(on_dim0({{Axis::cp_edp}}), uncut.used()), "{cp}");
  EXPECT_EQ(to_string(groups::stage), "dp cp tp_kv tp_rep");
  EXPECT_EQ(to_string(groups::expert), "dp_ep cp_ep tp_kv_ep tp_rep_ep");
  EXPECT_EQ(to_string(AxisSet{Axis::cp_ep, groups::pipeline}, cut.used()), "pp cp_ep");
}

}  // namespace megalith
