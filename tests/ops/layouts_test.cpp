#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "tests/ops/check_op.h"

namespace megalith::harness {

namespace {

std::set<std::string> listed_ops() {
  std::set<std::string> out;
#define OP(T) out.insert(std::string(T::name));
#include "ops/ops.def"
#undef OP
  // Ops that move data between ranks, or depend on ranks, have their own tests: tests/mesh,
  // tests/exec_cpu/relayout_test.cpp and, in full runs, tests/parallel. So have ops on a rank's memory or on bits:
  // tests/passes, tests/kernels. A rank's rows of experts depend on the data: ragged_test.cpp, tests/kernels and
  // tests/models. A rank's results of only its own tokens differ between layouts: tests/kernels. Codes are no numbers:
  // boxes_test.cpp, tests/exec_cpu/quantize_test.cpp and tests/models/quantize_test.cpp.
  for (const std::string_view other : {Relayout::name,
                                       Wait::name,
                                       JoinBucket::name,
                                       PutBack::name,
                                       StageTerm::name,
                                       FetchState::name,
                                       StoreState::name,
                                       WindowUpdate::name,
                                       SplitMain::name,
                                       HostStore::name,
                                       HostFetch::name,
                                       Sinkhorn::name,
                                       Amax::name,
                                       Quantize::name,
                                       CodedResult::name,
                                       RotateTokens::name,
                                       QuantizedProduct::name,
                                       OverlappedProduct::name,
                                       ShardAmax::name,
                                       CastShard::name,
                                       TurnCodes::name,
                                       SharedAmax::name,
                                       CollectAmax::name,
                                       CollectCounts::name,
                                       DelayedScale::name,
                                       ExpertParts::name,
                                       ExpertRows::name,
                                       GatherRows::name,
                                       CombineRows::name,
                                       GatherWeights::name,
                                       GatherWeightsGrad::name,
                                       GroupedProduct::name,
                                       QuantizedGroupedProduct::name,
                                       ClearRows::name,
                                       ExpertActivation::name,
                                       ExpertActivationGrad::name,
                                       ExpertBias::name,
                                       SumExpertRows::name,
                                       DotExpertBias::name})
    out.erase(std::string(other));
  return out;
}

// Several cases of an op make one test: the names of ops.def, each once.
std::vector<std::string> op_names() {
  const auto names = listed_ops();
  return {names.begin(), names.end()};
}

class OpLayouts : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(OpLayouts, every_assignment_is_refused_or_right) {
  LayoutReport total;
  for (const OpCase& c : op_cases(layout_sizes()))
    if (c.op.name() == GetParam()) total += check_layouts(c);
  std::cout << fmt::format("{}: one axis {} right, {} refused; two axes {} right, {} refused\n", GetParam(),
                           total.right_on_one, total.refused_on_one, total.right_on_two, total.refused_on_two);
  for (size_t i = 0; i < std::min<size_t>(total.wrong.size(), 5); ++i) ADD_FAILURE() << total.wrong[i];
  EXPECT_EQ(total.wrong.size(), 0u);
  EXPECT_TRUE(total.right_on_one > 0 || GetParam() == Ones::name);
}

INSTANTIATE_TEST_SUITE_P(Ops, OpLayouts, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

TEST(Ops, every_op_of_the_list_has_a_case) {
  std::set<std::string> seen, differentiable, without;
  for (const OpCase& c : op_cases(odd_sizes())) {
    seen.insert(std::string(c.op.name()));
    if (c.has_grad) differentiable.insert(std::string(c.op.name()));
  }
  for (const AnyOp& op : ops_without_gradient()) without.insert(std::string(op.name()));
  seen.insert(std::string(Ones::name));  // has no inputs
  EXPECT_EQ(seen, listed_ops()) << "tests/ops/cases.cpp and src/ops/ops.def differ";
  for (const std::string& name : listed_ops())
    EXPECT_EQ(differentiable.count(name) + without.count(name), 1u)
        << name << " has a case with a gradient, or is named among those without: one of the two";
}

TEST(Ops, those_without_gradient_say_so) {
  for (const AnyOp& op : ops_without_gradient()) {
    Graph g;
    Builder b(g);
    const Value x = b.leaf({"x", {DType::f64, {}, whole(0)}});
    const Node n{op, {x}, {x}, Phase::forward, ""};
    const std::vector<Value> dys = {x, x, x, x};
    EXPECT_THROW(op.grad(b, n, dys), Error) << op.name();
  }
}

}  // namespace megalith::harness
