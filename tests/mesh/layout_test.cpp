#include "mesh/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace megalith {

namespace {

constexpr Order kZig = Order::zigzag;

// The definition, on a list of numbers: each axis takes its part of what the axes before it left.
std::vector<i64> plain_indices(const Mesh& m, i64 n, const AxisList& axes, const Coord& c) {
  std::vector<i64> ix(n);
  std::iota(ix.begin(), ix.end(), 0);
  for (const AxisUse& use : axes) {
    const i64 ways = m.n(use.axis), k = (c[int(use.axis)] - use.rotated + ways) % ways;
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

}  // namespace

TEST(IndexRuns, equal_the_definition_and_cover_everything_once) {
  const Mesh m = make_mesh(2, 3, 2, 2);
  const std::vector<AxisList> lists = {
      {},
      {{Axis::cp}},
      {{Axis::cp, kZig}},
      {{Axis::cp}, {Axis::tk}},
      {{Axis::cp, kZig}, {Axis::tk}},
      {{Axis::cp, kZig}, {Axis::tk}, {Axis::tr}},
      {{Axis::tk}, {Axis::cp, kZig}},
      {{Axis::tk, kZig}, {Axis::cp, kZig}},
      {{Axis::tr}, {Axis::dp}},
      {{Axis::cp, Order::block, 1}},
      {{Axis::cp, kZig, 2}},
      {{Axis::cp, kZig, 1}, {Axis::tk}},
      {{Axis::tk, Order::block, 1}, {Axis::cp, kZig, 2}},
  };
  for (const AxisList& axes : lists) {
    const Layout l = on_dim0(axes);
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
  const Mesh m = make_mesh(1, 2, 2, 1);
  const Layout zig = on_dim0({{Axis::cp, kZig}});
  EXPECT_EQ(index_runs(m, {16}, zig, m.coord(0), 0), (std::vector<megalith::Run>{{0, 4}, {12, 4}}));
  EXPECT_EQ(index_runs(m, {16}, zig, m.coord(2), 0), (std::vector<megalith::Run>{{4, 8}}));  // chunks 1 and 2 touch
  const Layout both = on_dim0({{Axis::cp, kZig}, {Axis::tk}});
  EXPECT_EQ(index_runs(m, {16}, both, m.coord(1), 0), (std::vector<megalith::Run>{{12, 4}}));
  EXPECT_EQ(index_runs(m, {16}, on_dim0({}), m.coord(1), 0), (std::vector<megalith::Run>{{0, 16}}));
}

// Handed on by one rank: rank 0 has what the last one had.
TEST(IndexRuns, rotated_parts_are_those_of_the_ranks_before) {
  const Mesh m = make_mesh(1, 4, 1, 1);
  const Layout home = on_dim0({{Axis::cp, kZig}}), once = on_dim0({{Axis::cp, kZig, 1}});
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(index_runs(m, {16}, once, m.coord((r + 1) % 4), 0), index_runs(m, {16}, home, m.coord(r), 0));
  EXPECT_EQ(index_runs(m, {16}, once, m.coord(1), 0), (std::vector<megalith::Run>{{0, 2}, {14, 2}}));
  EXPECT_EQ(to_string(once), "{cp~+1}");
  EXPECT_NE(once, home);
  EXPECT_THROW(local_shape(m, {16}, on_dim0({{Axis::cp, kZig, 4}})), Error);
  EXPECT_THROW(local_shape(m, {16}, on_dim0({{Axis::cp, kZig, -1}})), Error);
}

TEST(LocalShape, refuses_what_does_not_divide) {
  const Mesh m = make_mesh(2, 3, 2, 1);
  EXPECT_EQ(local_shape(m, {12, 5}, {{{{Axis::cp}, {Axis::tk}}, {}}, {}, {}, {}}), (Shape{2, 5}));
  EXPECT_THROW(local_shape(m, {10}, on_dim0({{Axis::cp}})), Error);
  EXPECT_THROW(local_shape(m, {9}, on_dim0({{Axis::cp, kZig}})), Error);  // 9 over 6 chunks
  EXPECT_EQ(local_shape(m, {9}, on_dim0({{Axis::cp}})), (Shape{3}));
  EXPECT_THROW(local_shape(m, {6}, on_dim0({{Axis::cp}, {Axis::tk}, {Axis::dp}})), Error);  // 6 / 3 / 2 / 2
  try {
    local_shape(m, {4, 10}, {{{}, {{Axis::cp}}}, {}, {}, {}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("10"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cp"), std::string::npos) << e.what();
  }
}

TEST(Layout, state_and_dual) {
  const Layout l{{{{Axis::cp, kZig}, {Axis::tk}}, {}}, {Axis::tr}, {Axis::dp}, {}};
  EXPECT_EQ(l.state(Axis::cp), split(0));
  EXPECT_EQ(l.state(Axis::tk), split(0));
  EXPECT_EQ(l.state(Axis::tr), kPartial);
  EXPECT_EQ(l.state(Axis::dp), kCopy);
  EXPECT_EQ(l.state(Axis::pp), kSame);
  EXPECT_EQ(l.dual().dual(), l);
  for (Axis a : kAllAxes) EXPECT_EQ(l.dual().state(a), l.state(a).dual());
  EXPECT_EQ(to_string(l), "{cp~ tk,  | copy dp | partial tr}");
  EXPECT_EQ(to_string(whole(3)), "");
}

TEST(Layout, equality_sees_order_and_tags) {
  EXPECT_NE(on_dim0({{Axis::cp}, {Axis::tk}}), on_dim0({{Axis::tk}, {Axis::cp}}));
  EXPECT_NE(on_dim0({{Axis::cp}}), on_dim0({{Axis::cp, kZig}}));
  EXPECT_NE((Layout{{{}}, {}, {Axis::tk}, {}}), whole(1));
}

}  // namespace megalith
