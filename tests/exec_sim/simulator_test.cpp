#include "exec/sim/simulator.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/relayout_op.h"
#include "ops/all.h"

namespace megalith::sim {

namespace {

constexpr Hardware kEven{"even", 1e9, 1e9, 1e30, 1e9, 0};  // a flop takes as long as one byte of transfer

// Weights are gathered on a lane during `products` products, in the first micro-batch only.
Plan gathering(int products) {
  Graph g;
  g.mesh = make_mesh({2, 1, 1, 1});
  Builder b(g);
  Type whole_type{DType::f32, {64, 64}, whole(2)}, part = whole_type;
  whole_type.layout.copy.insert(groups::data), part.layout.dims[0].add({groups::data});
  const Value moved = b.move_into(b.leaf({"part", part}), {groups::data}, kCopy, b.leaf({"w", whole_type}), 2, true);
  const Value x = b.leaf({"x", {DType::f32, {64, 64}, whole(2)}});
  for (int i = 0; i < products; ++i) b.add1(Einsum{"ab,bc->ac", DType::f32}, {x, x});
  b.wait(moved);
  return plan_memory(g.mesh, {{"p", &g, {Phase::forward}}}, [](const Graph&, const Node&) { return i64{0}; });
}

constexpr double kSent = 64 * 32 * 4 / 1e9, kProduct = 2.0 * 64 * 64 * 64 / 1e9;

}  // namespace

TEST(Simulator, what_a_lane_brings_costs_what_is_left_of_it) {
  const Plan alone = gathering(0), beside = gathering(2);
  const Estimate exposed = simulate(alone, alone.programs[0], kEven);
  EXPECT_DOUBLE_EQ(exposed.total.seconds, kSent);
  EXPECT_DOUBLE_EQ(exposed.by_op.at("wait").seconds, kSent);
  const Estimate hidden = simulate(beside, beside.programs[0], kEven);
  ASSERT_GT(2 * kProduct, kSent);
  EXPECT_DOUBLE_EQ(hidden.total.seconds, 2 * kProduct);
  EXPECT_DOUBLE_EQ(hidden.by_op.at("wait").seconds, 0);
  EXPECT_DOUBLE_EQ(hidden.by_op.at("relayout, lane 2").seconds, kSent);
}

TEST(Simulator, later_micro_batches_do_not_gather) {
  const Plan plan = gathering(2);
  const Estimate e = simulate(plan, plan.programs[0], kEven, false);
  EXPECT_EQ(e.total.wire_bytes, 0);
  EXPECT_EQ(e.total.instructions, 2);
}

}  // namespace megalith::sim
