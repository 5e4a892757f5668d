// Which tensor-parallel transfers overlap the product that reads or makes what they move.
#include <gtest/gtest.h>

#include "count_ops.h"
#include "exec/sim/simulator.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "tests/harness/overlapped_graph.h"
#include "tests/harness/rank_set.h"

namespace megalith {

namespace {

using namespace harness;

int overlapped(const Graph& g) { return count_ops<OverlappedProduct>(g); }
const Mesh kTwo = make_mesh({1, 1, 2, 1});

Node& transfer(Graph& g, Transfer by) {
  return *std::ranges::find_if(g.nodes, [&](const Node& n) {
    const auto* r = n.op.get_if<Relayout>();
    return r && r->transfer == by;
  });
}

}  // namespace

TEST(OverlapProducts, both_transfers_of_a_layer) {
  for (const bool codes : {false, true}) {
    Graph g = layer_between_transfers(kTwo, {}, codes);
    EXPECT_TRUE(overlap_products(g, 1));
    verify(g);
    EXPECT_EQ(overlapped(g), 2);
    for (const Node& n : g.nodes)
      if (const auto* r = n.op.get_if<Relayout>()) EXPECT_TRUE(is_local(r->transfer)) << n.op.print();
    EXPECT_FALSE(overlap_products(g, 1)) << "again";
  }
}

// A rank has 8 of 16 tokens.
TEST(OverlapProducts, not_for_few_tokens) {
  Graph g = layer_between_transfers(kTwo, {}, false);
  EXPECT_FALSE(overlap_products(g, 9));
  EXPECT_TRUE(overlap_products(g, 8));
}

TEST(OverlapProducts, not_where_another_op_needs_the_value_first) {
  Graph g = layer_between_transfers(kTwo, {}, false);
  Node gather = transfer(g, Transfer::all_gather);
  Builder b(g);
  g.outputs["more"] = b.add1(Scale{3, 2}, {gather.outs[0]});
  std::rotate(g.nodes.begin() + 1, g.nodes.end() - 1, g.nodes.end());  // directly after the gather
  set_nodes(g, std::move(g.nodes));
  EXPECT_TRUE(overlap_products(g, 1));
  verify(g);
  EXPECT_EQ(overlapped(g), 1);
}

TEST(OverlapProducts, not_of_a_sum_that_two_read) {
  Graph g = layer_between_transfers(kTwo, {}, false);
  const Value sum = transfer(g, Transfer::reduce_scatter).ins[0];
  g.outputs["sum"] = sum;
  EXPECT_TRUE(overlap_products(g, 1));
  EXPECT_EQ(overlapped(g), 1);
}

TEST(OverlapProducts, not_what_overlaps_other_work) {
  Graph g = layer_between_transfers(kTwo, {}, false);
  Node& gather = transfer(g, Transfer::all_gather);
  Relayout op = *gather.op.get_if<Relayout>();
  op.lane = 3, gather.op = op;
  EXPECT_TRUE(overlap_products(g, 1));
  EXPECT_EQ(overlapped(g), 1);
}

// Rows with scales of their own would need other scales for each piece.
TEST(OverlapProducts, not_with_scales_of_blocks) {
  Graph g = layer_between_transfers(kTwo, {.hidden = 256}, true);
  for (Node& n : g.nodes)
    if (auto* p = n.op.get_if<QuantizedProduct>(); p && p->plus) {
      QuantizedProduct op = *p;
      op.x_box = {1, 1, 128}, n.op = op;
      g.values[size_t(n.ins[1].id)].type.shape = {8, 2, 2};
    }
  overlap_products(g, 1);
  EXPECT_EQ(overlapped(g), 1);
}

// A transfer is exposed for the time by which it exceeds the products of the other ranks' rows.
TEST(OverlapProducts, simulated_time_hides_what_a_piece_covers) {
  Graph g = layer_between_transfers(kTwo, {.rows = 4096, .hidden = 4096, .inner = 4096}, false);
  sim::Hardware slow{"test", 1e14, 1e13, 1e12, 1e9, 0, 1e9}, fast = slow;
  fast.link_bytes = 1e15;
  const auto exposed = [&](const sim::Hardware& hw) {
    const Plan plan = plan_graph(g);
    return sim::simulate(plan, plan.programs[0], hw, true).exposed;
  };
  const double before = exposed(slow);
  ASSERT_GT(before, 0);
  overlap_products(g, 1);
  EXPECT_EQ(exposed(fast), 0);
  EXPECT_GT(exposed(slow), 0);
  EXPECT_LT(exposed(slow), before);
}

}  // namespace megalith
