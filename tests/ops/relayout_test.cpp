// Every relayout of one axis with every state of another, block and zigzag, and its gradient, which is the twin.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/harness/rank_set.h"

namespace megalith::harness {

namespace {

constexpr AxisSet kX = groups::context, kY = groups::kv_heads;

struct Setting {
  State x, y, to;
  Order to_order, x_order;
  bool y_outside;  // y splits before x where both split one dim
  int x_rotated = 0, to_rotated = 0;
};

Layout layout_of(const Setting& s) {
  Layout l = whole(2);
  auto put = [&](AxisSet a, State state, Order order, int rotated = 0) {
    if (state.is_split()) l.dims[state.dim].add({a, order, rotated});
    if (state == kPartial) l.partial.insert(a);
    if (state == kCopy) l.copy.insert(a);
    if (state == kMax) l.max.insert(a);
  };
  if (s.y_outside) put(kY, s.y, Order::block);
  put(kX, s.x, s.x_order, s.x_rotated);
  if (!s.y_outside) put(kY, s.y, Order::block);
  return l;
}

// Runs the relayout and its gradient; true if it is allowed. Expects the same logical values and the dual type.
bool check_setting(const Setting& s, const Tensor& full, const Tensor& cot) {
  Graph g;
  g.mesh = make_mesh({1, 2, 2, 1});
  Builder b(g);
  const Type type{DType::f64, {8, 8}, layout_of(s)};
  const Value v = b.leaf({"v", type, Role::input, true});
  Value w;
  try {
    w = b.relayout(v, {kX}, s.to, s.to_order, s.to_rotated);
  } catch (const Error&) {
    return false;
  }
  if (w == v) return true;
  const bool differentiable = s.x != kMax && s.y != kMax;
  g.outputs["w"] = w;
  if (differentiable) {
    const Value dw = b.leaf({"dw", b.type(w).dual(DType::f64), Role::input, true});
    b.set_phase(Phase::backward);
    const Node n = g.nodes[0];
    const Value dv = n.op.grad(b, n, std::vector<Value>{dw})[0];
    EXPECT_EQ(b.type(dv), type.dual(DType::f64)) << to_string(type) << " to " << to_string(s.to);
    g.outputs["dv"] = dv;
    EXPECT_NE(dv, dw);
  }
  verify(g);
  RankSet ranks(plan_graph(g));
  ranks.write("v", full);
  if (differentiable) ranks.write("dw", cot);
  ranks.run("graph");
  const std::string what = to_string(type) + " to " + to_string(s.to);
  EXPECT_LT(max_difference(ranks.output("graph", "w"), full), 1e-14) << what;
  if (differentiable) EXPECT_LT(max_difference(ranks.output("graph", "dv"), cot), 1e-14) << what;
  return true;
}

}  // namespace

TEST(Relayouts, every_row_moves_the_logical_tensor_unchanged_and_so_does_its_gradient) {
  const Tensor full = random_tensor({8, 8}, 3), cot = random_tensor({8, 8}, 4);
  const std::vector<State> states = {kSame, kCopy, kPartial, kMax, split(0), split(1)};
  int right = 0, refused = 0;
  for (State x : states)
    for (State y : states)
      for (State to : states)
        for (Order to_order : {Order::block, Order::zigzag})
          for (Order x_order : {Order::block, Order::zigzag})
            for (bool y_outside : {false, true}) {
              if (to_order == Order::zigzag && !to.is_split()) continue;
              if (x_order == Order::zigzag && !x.is_split()) continue;
              for (int x_rotated : {0, 1})
                for (int to_rotated : {0, 1}) {
                  if ((x_rotated && !x.is_split()) || (to_rotated && !to.is_split())) continue;
                  const Setting s{x, y, to, to_order, x_order, y_outside, x_rotated, to_rotated};
                  ++(check_setting(s, full, cot) ? right : refused);
                }
            }
  std::cout << fmt::format("{} right, {} refused\n", right, refused);
  EXPECT_GT(right, 300);
  EXPECT_GT(refused, 50);
}

}  // namespace megalith::harness
