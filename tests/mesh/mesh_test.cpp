#include "mesh/mesh.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace megalith {

TEST(Mesh, neighbours_differ_in_the_last_axis_first) {
  const Mesh m = make_mesh({.dp = 2, .cp = 3, .tp_kv = 2, .tp_rep = 2, .pp = 2});
  EXPECT_EQ(m.num_ranks(), 48);
  const auto places = [&](int rank) {
    std::vector<int> out;
    for (const AxisSet g : {groups::pipeline, groups::data, groups::context, groups::kv_heads, groups::query_heads})
      out.push_back(m.place(m.coord(rank), g));
    return out;
  };
  EXPECT_EQ(places(1), (std::vector<int>{0, 0, 0, 0, 1}));
  EXPECT_EQ(places(2), (std::vector<int>{0, 0, 0, 1, 0}));
  EXPECT_EQ(places(4), (std::vector<int>{0, 0, 1, 0, 0}));
  EXPECT_EQ(places(12), (std::vector<int>{0, 1, 0, 0, 0}));
  EXPECT_EQ(places(24), (std::vector<int>{1, 0, 0, 0, 0}));
  for (int r = 0; r < m.num_ranks(); ++r) EXPECT_EQ(m.rank(m.coord(r)), r);
}

TEST(Mesh, groups_are_ranks_that_differ_in_the_axes_only) {
  const Mesh m = make_mesh({2, 1, 2, 2});
  EXPECT_EQ(m.groups(groups::tensor), (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(m.groups(groups::kv_heads), (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(m.groups(groups::data), (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(m.groups({}).size(), 8u);
  EXPECT_EQ(m.groups(kAllAxes).size(), 1u);
  EXPECT_EQ(m.n({groups::data, groups::query_heads}), 4);
}

TEST(Mesh, places_in_a_group_are_numbers_of_its_members) {
  const Mesh m = make_mesh({.dp = 4, .cp = 2, .tp_kv = 4, .pp = 2, .ep = 8, .etp = 1});
  for (const AxisSet g : {groups::data, groups::expert, groups::expert_data, groups::stage, groups::pipeline})
    for (int r = 0; r < m.num_ranks(); ++r) {
      const std::vector<int> members = m.group_of(m.coord(r), g);
      EXPECT_EQ(members[size_t(m.place(m.coord(r), g))], r);
      for (size_t k = 0; k < members.size(); ++k) EXPECT_EQ(m.rank(m.at(m.coord(r), g, int(k))), members[k]);
    }
}

TEST(Mesh, without_experts_a_dense_axis_is_one_atom) {
  const Mesh dense = make_mesh({.dp = 4, .cp = 2, .tp_kv = 2, .tp_rep = 3, .pp = 2});
  EXPECT_EQ(dense.used(), (AxisSet{Axis::pp, Axis::dp_edp, Axis::cp_edp, Axis::tp_kv_etp, Axis::tp_rep_etp}));
  EXPECT_EQ(dense.size, make_mesh({.dp = 4, .cp = 2, .tp_kv = 2, .tp_rep = 3, .pp = 2, .ep = 1, .etp = 6}).size);
}

TEST(Mesh, atoms_lie_between_the_cuts_of_both_views) {
  const Mesh m = make_mesh({.dp = 4, .cp = 2, .tp_kv = 4, .ep = 8, .etp = 1});
  EXPECT_EQ(m.used(), (AxisSet{Axis::dp_edp, Axis::cp_ep, Axis::tp_kv_ep}));
  EXPECT_EQ(m.used(groups::expert), (AxisSet{Axis::cp_ep, Axis::tp_kv_ep}));
  const Mesh cut = make_mesh({.cp = 4, .ep = 2, .etp = 1});
  EXPECT_EQ(cut.used(), (AxisSet{Axis::cp_edp, Axis::cp_ep}));
}

TEST(Mesh, views_that_cut_across_one_another_are_refused) {
  const auto error = [](const MeshSizes& sizes) { return error_of([&] { make_mesh(sizes); }); };
  EXPECT_EQ(error({.dp = 3, .tp_kv = 2, .ep = 3, .etp = 1}),
            "expert parallelism etp 1 x ep 3 cuts across tp 2 x cp 1 x dp 3: ep 2 or 6 would fit");
  EXPECT_EQ(error({.dp = 2, .tp_kv = 2, .ep = 8, .etp = 1}),
            "expert parallelism etp 1 x ep 8 cuts across tp 2 x cp 1 x dp 2: ep 4 would fit");
  EXPECT_EQ(
      error({.dp = 4, .tp_kv = 2, .tp_rep = 3, .ep = 2, .etp = 2}),
      "expert parallelism etp 2 x ep 2 cuts across tp 6 (tp_kv 2 x tp_rep 3) x cp 1 x dp 4: etp 1 or 3 with ep 1 would "
      "fit");
  EXPECT_EQ(error({.dp = 0}), "an axis of 0 ranks");
  EXPECT_EQ(error({.dp = 2, .ep = 2'000'000'000, .etp = 2'000'000'000}).substr(0, 18), "expert parallelism");
}

TEST(AxisSet, lists_in_mesh_order) {
  AxisSet s = {groups::query_heads, groups::data};
  EXPECT_EQ(to_string(s), "dp tp_rep");
  EXPECT_EQ(*s.begin(), Axis::dp_edp);
  EXPECT_EQ(s.size(), 6);
  s.erase(groups::data), s.insert(groups::context);
  EXPECT_TRUE(s.has(groups::context) && s.has(groups::query_heads) && !s.meets(groups::data));
  EXPECT_EQ(s, (AxisSet{groups::context, groups::query_heads}));
}

}  // namespace megalith
