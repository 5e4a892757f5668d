#include "mesh/relayout.h"

#include <gtest/gtest.h>

namespace megalith {

namespace {

constexpr Order kRelayoutZigzag = Order::zigzag;
const Mesh kMesh = make_mesh({2, 2, 2, 2});
constexpr AxisSet kTp = groups::tensor;

// A [16, 16] value in state `s` over tp.
Layout in_state(State s) {
  Layout l = whole(2);
  if (s.is_split()) l.dims[s.dim].add({kTp});
  if (s == kPartial) l.partial.insert(kTp);
  if (s == kCopy) l.copy.insert(kTp);
  if (s == kMax) l.max.insert(kTp);
  return l;
}

RelayoutPlan plan(State from, State to) { return relayout_plan(kMesh, {16, 16}, in_state(from), kTp, to); }

}  // namespace

TEST(Relayout, every_row_of_the_table) {
  struct Row {
    State from, to;
    Transfer transfer;
  };
  const std::vector<Row> rows = {
      {kSame, kCopy, Transfer::none},
      {kCopy, kSame, Transfer::none},
      {kPartial, kSame, Transfer::all_reduce},
      {kPartial, kCopy, Transfer::all_reduce},
      {kPartial, split(0), Transfer::reduce_scatter},
      {kPartial, split(1), Transfer::reduce_scatter},
      {split(0), kCopy, Transfer::all_gather},
      {split(1), kSame, Transfer::all_gather},
      {kSame, split(1), Transfer::slice},
      {kCopy, split(0), Transfer::slice},
      {split(0), split(1), Transfer::all_to_all},
      {split(1), split(0), Transfer::all_to_all},
      {split(0), kPartial, Transfer::pad},
      {kSame, kPartial, Transfer::keep_one},
      {kCopy, kPartial, Transfer::keep_one},
      {kMax, kSame, Transfer::all_reduce_max},
      {kMax, kCopy, Transfer::all_reduce_max},
  };
  for (const Row& row : rows) {
    const RelayoutPlan p = plan(row.from, row.to);
    EXPECT_EQ(p.transfer, row.transfer) << to_string(row.from) << " -> " << to_string(row.to);
    EXPECT_EQ(p.to, in_state(row.to)) << to_string(row.from) << " -> " << to_string(row.to);
    EXPECT_EQ(p.from, row.from);
    if (row.from == kMax) continue;
    const RelayoutPlan twin = plan(row.to.dual(), row.from.dual());  // the table is closed under gradients
    EXPECT_EQ(twin.to, in_state(row.from).dual());
  }
}

TEST(Relayout, no_way_to_max_nor_from_max_to_a_part) {
  for (State s : {kSame, kCopy, kPartial, split(0)}) EXPECT_THROW(plan(s, kMax), Error) << to_string(s);
  EXPECT_THROW(plan(kMax, split(0)), Error);
  EXPECT_THROW(plan(kMax, kPartial), Error);
}

TEST(Relayout, staying_is_free) {
  for (State s : {kSame, kCopy, kPartial}) {
    EXPECT_EQ(plan(s, s).transfer, Transfer::none);
    EXPECT_EQ(plan(s, s).to, in_state(s));
  }
}

TEST(Relayout, axes_act_as_one_group) {
  Layout l = whole(2);
  l.partial = {groups::kv_heads}, l.copy = {groups::query_heads};
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, l, kTp, kSame), Error);
  EXPECT_EQ(relayout_plan(kMesh, {16, 16}, l, {groups::kv_heads}, kSame).to.copy, groups::query_heads);
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, l, {}, kSame), Error);
}

TEST(Relayout, only_innermost_axes_leave_a_dim) {
  const Layout l{{{{groups::context, kRelayoutZigzag}, {groups::kv_heads}, {groups::query_heads}}, {}}, {}, {}, {}};
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, l, {groups::context}, kCopy), Error);
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, l, {groups::kv_heads}, kCopy), Error);
  const Layout turned{
      {{{groups::context, kRelayoutZigzag}, {groups::query_heads}, {groups::kv_heads}}, {}}, {}, {}, {}};
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, turned, kTp, kCopy), Error);
  const RelayoutPlan p = relayout_plan(kMesh, {16, 16}, l, kTp, kCopy);
  EXPECT_EQ(p.to.dims[0], (AxisList{{groups::context, kRelayoutZigzag}}));
  EXPECT_EQ(p.from_order, Order::block);
  const RelayoutPlan q = relayout_plan(kMesh, {16, 16}, p.to, {groups::context}, kCopy);
  EXPECT_EQ(q.from_order, kRelayoutZigzag);
  EXPECT_TRUE(q.to.dims[0].empty());
}

TEST(Relayout, new_axes_are_innermost_and_must_divide) {
  Layout l = whole(2);
  l.dims[0] = {{groups::context}};
  EXPECT_EQ(relayout_plan(kMesh, {16, 16}, l, kTp, split(0)).to.dims[0],
            (AxisList{{groups::context}, {groups::kv_heads}, {groups::query_heads}}));
  EXPECT_THROW(relayout_plan(kMesh, {4, 16}, l, kTp, split(0)), Error);
  EXPECT_THROW(relayout_plan(kMesh, {16, 16}, l, {groups::data}, split(2)), Error);
  const RelayoutPlan p =
      relayout_plan(kMesh, {16, 16}, l, {groups::context}, split(0), kRelayoutZigzag);  // block to zigzag
  EXPECT_EQ(p.transfer, Transfer::all_to_all);
  EXPECT_EQ(p.to.dims[0], (AxisList{{groups::context, kRelayoutZigzag}}));
  EXPECT_EQ(p.from_order, Order::block);
}

TEST(Relayout, rotation_hands_parts_on) {
  const auto on_cp = [](Order order, int rotated) {
    Layout l = whole(2);
    l.dims[0] = {{groups::context, order, rotated}};
    return l;
  };
  const Mesh ring = make_mesh({1, 4, 1, 1});
  const auto to = [&](const Layout& from, Order order, int rotated) {
    return relayout_plan(ring, {16, 16}, from, {groups::context}, split(0), order, rotated);
  };
  for (const auto& [from, rotated] : {std::pair{0, 1}, {1, 2}, {3, 0}, {0, 3}}) {
    const RelayoutPlan p = to(on_cp(kRelayoutZigzag, from), kRelayoutZigzag, rotated);
    EXPECT_EQ(p.transfer, Transfer::rotate);
    EXPECT_EQ(p.to, on_cp(kRelayoutZigzag, rotated));
    EXPECT_EQ(p.from_rotated, from);
    EXPECT_EQ(to(p.to, kRelayoutZigzag, from).to, on_cp(kRelayoutZigzag, from));  // its gradient
  }
  EXPECT_EQ(to(on_cp(kRelayoutZigzag, 1), Order::block, 1).transfer, Transfer::all_to_all);
  EXPECT_EQ(relayout_plan(ring, {16, 16}, on_cp(kRelayoutZigzag, 1), {groups::context}, kCopy).from_rotated, 1);
  EXPECT_THROW(to(on_cp(kRelayoutZigzag, 0), kRelayoutZigzag, 4), Error);
  EXPECT_THROW(relayout_plan(ring, {16, 16}, on_cp(kRelayoutZigzag, 0), {groups::context}, kCopy, Order::block, 1),
               Error);
  const Mesh two = make_mesh({1, 1, 2, 2});
  EXPECT_THROW(relayout_plan(two, {16, 16}, whole(2), kTp, split(0), Order::block, 1), Error);
}

// Of a dim that both views split, the expert view's axes are gathered first. A split in zigzag order is gathered
// completely.
TEST(Relayout, parts_of_a_dense_axis) {
  const Mesh cut = make_mesh({.cp = 4, .ep = 2, .etp = 1});
  const auto plan = [&](const Layout& from, AxisSet axes, State to, Order order = Order::block) {
    return relayout_plan(cut, {16, 16}, from, axes, to, order);
  };
  const Layout block{{{{groups::context}}, {}}, {}, {}, {}},
      zig{{{{groups::context, kRelayoutZigzag}}, {}}, {}, {}, {}};
  const RelayoutPlan p = plan(block, {Axis::cp_ep, Axis::cp_etp}, kCopy);
  EXPECT_EQ(p.transfer, Transfer::all_gather);
  EXPECT_EQ(p.to.dims[0], (AxisList{{Axis::cp_edp}}));
  EXPECT_EQ(plan(p.to, {Axis::cp_ep, Axis::cp_etp}, split(0)).to.dims[0], block.dims[0]);
  EXPECT_THROW(plan(block, Axis::cp_edp, kCopy), Error);  // not innermost
  EXPECT_THROW(plan(zig, {Axis::cp_ep, Axis::cp_etp}, kCopy), Error);
  EXPECT_EQ(plan(zig, groups::context, kCopy).from_order, kRelayoutZigzag);
  // An axis of one rank between them (tp_rep_edp) changes nothing. The relayout back is the inverse.
  const Mesh two = make_mesh({.dp = 2, .tp_kv = 2, .tp_rep = 2, .ep = 2, .etp = 2});
  const Layout heads{{{{groups::context}, {groups::tensor}}, {}}, {}, {}, {}};
  constexpr AxisSet inner = {Axis::tp_kv_ep, Axis::tp_kv_etp, Axis::tp_rep_ep, Axis::tp_rep_etp};
  const RelayoutPlan gathered = relayout_plan(two, {16, 16}, heads, inner, kCopy);
  EXPECT_EQ(gathered.to.dims[0], (AxisList{{groups::context}, {Axis::tp_kv_edp}, {Axis::tp_rep_edp}}));
  EXPECT_EQ(relayout_plan(two, {16, 16}, gathered.to, inner, split(0)).to, heads);
  EXPECT_THROW(relayout_plan(two, {16, 16}, heads, groups::kv_heads, kCopy), Error);
  EXPECT_THROW(relayout_plan(make_mesh({}), {16, 16}, heads, groups::context, kCopy), Error);  // also on one rank
  const Layout outer{{{{Axis::cp_edp, kRelayoutZigzag}}, {}}, {}, {Axis::cp_ep, Axis::cp_etp}, {}};
  EXPECT_THROW(plan(outer, {Axis::cp_ep, Axis::cp_etp}, split(0), kRelayoutZigzag), Error);
  EXPECT_EQ(plan(outer, {Axis::cp_ep, Axis::cp_etp}, split(0)).transfer, Transfer::slice);
  const Layout gradient{{{{groups::expert}}, {}}, groups::expert_data, {}, {}};
  EXPECT_EQ(plan(gradient, groups::expert_data, kSame).transfer, Transfer::all_reduce);
  EXPECT_EQ(plan(gradient, groups::expert, kCopy).transfer, Transfer::all_gather);
}

TEST(Relayout, wire_bytes_of_ring_algorithms) {
  EXPECT_EQ(wire_bytes(Transfer::all_reduce, 100, 4), 150);
  EXPECT_EQ(wire_bytes(Transfer::all_gather, 100, 4), 75);
  EXPECT_EQ(wire_bytes(Transfer::reduce_scatter, 100, 2), 50);
  EXPECT_EQ(wire_bytes(Transfer::all_to_all, 100, 2), 50);
  EXPECT_EQ(wire_bytes(Transfer::rotate, 100, 4), 100);  // a rank's own part
  EXPECT_EQ(wire_bytes(Transfer::rotate, 100, 1), 0);
  for (Transfer t : {Transfer::none, Transfer::slice, Transfer::keep_one, Transfer::pad})
    EXPECT_EQ(wire_bytes(t, 100, 4), 0);
  EXPECT_EQ(wire_bytes(Transfer::all_reduce, 100, 1), 0);
}

}  // namespace megalith
