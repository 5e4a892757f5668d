// Tests which nodes of a backward a pipeline may delay into its idle time.
#include "step/split_weights.h"

#include <gtest/gtest.h>

#include "ops/scale.h"
#include "ops/update.h"

namespace megalith {

namespace {

// The graph has two terms of one gradient, as for a weight that is used twice. If `is_read`, a node of the backward
// reads the sum.
std::vector<Phase> phases(bool is_read) {
  Graph g;
  Builder b(g);
  b.set_phase(Phase::backward);
  const Type type{DType::f32, {4}, whole(1)};
  const Value gradient = b.leaf({"w.grad", type, Role::gradient});
  const Value x = b.leaf({"x", type, Role::input}), y = b.leaf({"y", type, Role::input});
  const Value first = b.add1(Accumulate{1, true}, {gradient, x});
  const Value sum = b.add1(Accumulate{1, false}, {first, b.add1(Scale{1, 3}, {y})});
  if (is_read) g.outputs["read"] = b.add1(Scale{1, 2}, {sum});
  split_weights(g);
  std::vector<Phase> out;
  for (const Node& n : g.nodes) out.push_back(n.phase);
  return out;
}

}  // namespace

TEST(SplitWeights, AllTermsOfAGradientWait) {
  EXPECT_EQ(phases(false), (std::vector{Phase::weights, Phase::backward, Phase::weights}));
}

TEST(SplitWeights, NoneWaitsBeforeOneThatDoesNot) { EXPECT_EQ(phases(true), (std::vector(4, Phase::backward))); }

}  // namespace megalith
