// Which communicators plans need, and that ranks agree on them. No GPU is asked.
#include "exec/cuda/communicator_groups.h"

#include <gtest/gtest.h>

#include "tests/harness/thread_ranks.h"

namespace megalith::cuda {

namespace {

Relayout op_of(const Mesh& mesh, Type from, AxisSet axes, State to, int lane) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.relayout(b.leaf({"x", std::move(from)}), axes, to);
  Relayout op = *g.nodes.back().op.get_if<Relayout>();
  op.lane = lane;
  return op;
}

Type partial_over(AxisSet a) {
  Type t{DType::f32, {8, 8}, whole(2)};
  t.layout.partial.insert(a);
  return t;
}
Type split_over(AxisSet a) {
  Type t{DType::f32, {8, 8}, whole(2)};
  t.layout.dims[0].add({a});
  return t;
}

}  // namespace

TEST(CommunicatorGroups, of_relayouts) {
  const Mesh mesh = make_mesh({2, 1, 2, 1});
  const auto at = [&](const Relayout& op, int rank) { return communicator_group_of(op, mesh, mesh.coord(rank)); };
  const Relayout sum = op_of(mesh, partial_over(groups::data), {groups::data}, kSame, 2);
  EXPECT_EQ(at(sum, 1), (CommunicatorGroup{CommunicatorGroup::collective, 2, {1, 3}}));
  EXPECT_EQ(at(op_of(mesh, split_over(groups::kv_heads), {groups::kv_heads}, split(1), 0), 3),
            (CommunicatorGroup{CommunicatorGroup::pairwise, 0, {2, 3}}));
  EXPECT_EQ(at(op_of(mesh, split_over(groups::kv_heads), {groups::kv_heads}, kPartial, 0), 3), std::nullopt);
  EXPECT_EQ(at(op_of(mesh, partial_over(groups::context), {groups::context}, kSame, 0), 0), std::nullopt)
      << "an axis of one rank";
  const Mesh stages = make_mesh({.pp = 2});
  const Relayout norm = op_of(stages, partial_over(groups::pipeline), {groups::pipeline}, kSame, 0);
  EXPECT_EQ(communicator_group_of(norm, stages, stages.coord(1)),
            (CommunicatorGroup{CommunicatorGroup::between_stages, 0, {0, 1}}));
  EXPECT_EQ(describe(sum, mesh, *at(sum, 1), "layer 3"), "all_reduce over dp, layer 3, ranks 1 3");
}

TEST(CommunicatorGroups, ranks_agree_on_all_of_them) {
  const std::vector<std::vector<CommunicatorGroup>> asked = {
      {{CommunicatorGroup::collective, 0, {0, 2}}, {CommunicatorGroup::link, 1, {0, 1}}},
      {{CommunicatorGroup::link, 1, {0, 1}},
       {CommunicatorGroup::collective, 0, {1, 3}},
       {CommunicatorGroup::link, 1, {3, 1}}},
      {{CommunicatorGroup::collective, 0, {0, 2}}},
      {{CommunicatorGroup::collective, 0, {1, 3}}, {CommunicatorGroup::link, 1, {3, 1}}}};
  const std::vector<CommunicatorGroup> want = {{CommunicatorGroup::collective, 0, {0, 2}},
                                               {CommunicatorGroup::collective, 0, {1, 3}},
                                               {CommunicatorGroup::link, 1, {0, 1}},
                                               {CommunicatorGroup::link, 1, {3, 1}}};
  harness::run_ranks(4, [&](Ranks& ranks) { EXPECT_EQ(agree(ranks, asked[size_t(ranks.rank())]), want); });
}

TEST(CommunicatorGroups, what_a_member_does_not_ask_for_is_an_error) {
  harness::run_ranks(2, [&](Ranks& ranks) {
    std::vector<CommunicatorGroup> mine;
    if (ranks.rank() == 0) mine.push_back({CommunicatorGroup::collective, 0, {0, 1}});
    EXPECT_THROW(agree(ranks, mine), Error);
  });
}

}  // namespace megalith::cuda
