#include "mesh/mesh.h"

#include <gtest/gtest.h>

namespace megalith {

TEST(Mesh, neighbours_differ_in_the_last_axis_first) {
  const Mesh m = make_mesh(2, 3, 2, 2);
  EXPECT_EQ(m.num_ranks(), 24);
  EXPECT_EQ(m.coord(1), (Coord{0, 0, 0, 0, 1}));
  EXPECT_EQ(m.coord(2), (Coord{0, 0, 0, 1, 0}));
  EXPECT_EQ(m.coord(4), (Coord{0, 0, 1, 0, 0}));
  EXPECT_EQ(m.coord(12), (Coord{0, 1, 0, 0, 0}));
  for (int r = 0; r < m.num_ranks(); ++r) EXPECT_EQ(m.rank(m.coord(r)), r);
}

TEST(Mesh, groups_are_ranks_that_differ_in_the_axes_only) {
  const Mesh m = make_mesh(2, 1, 2, 2);
  EXPECT_EQ(m.groups({Axis::tk, Axis::tr}), (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(m.groups({Axis::tk}), (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(m.groups({Axis::dp}), (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(m.groups({}).size(), 8u);
  EXPECT_EQ(m.groups({kAllAxes.begin(), kAllAxes.end()}).size(), 1u);
  EXPECT_EQ(m.n({Axis::dp, Axis::tr}), 4);
}

TEST(AxisSet, lists_in_mesh_order) {
  AxisSet s = {Axis::tr, Axis::dp};
  EXPECT_EQ(to_string(s.list()), "dp tr");
  s.erase(Axis::dp), s.insert(Axis::cp);
  EXPECT_TRUE(s.has(Axis::cp) && s.has(Axis::tr) && !s.has(Axis::dp));
  EXPECT_EQ(s, (AxisSet{Axis::cp, Axis::tr}));
}

}  // namespace megalith
