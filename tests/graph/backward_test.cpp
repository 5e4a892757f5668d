#include <gtest/gtest.h>

#include <algorithm>

#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/reshape.h"
#include "ops/scale.h"
#include "ops/sum.h"
#include "tests/graph/small.h"

namespace megalith {

namespace {

struct Fixture : testing::Test {  // one rank: the axes stand in the types all the same
  Graph g;
  Builder b{g};
  static constexpr AxisSet tp = groups::tensor;
  std::vector<Transfer> transfers(Phase p) const {
    std::vector<Transfer> out;
    for (const Node& n : g.nodes)
      if (const auto* r = n.op.get_if<Relayout>(); r && n.phase == p) out.push_back(r->transfer);
    return out;
  }
  i64 count(Phase p, Transfer t) const {
    const auto all = transfers(p);
    return std::count(all.begin(), all.end(), t);
  }
};
using Backward = Fixture;

// An op that computes x but claims `to` for its layout, and passes the cotangent on as it is: a cast without the
// collective.
struct Claim {
  static constexpr std::string_view name = "claim";
  Layout to;
  std::vector<Type> infer(const InferArgs& a) const { return {{a.ins[0].dtype, a.ins[0].shape, to}}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const { return {dys[0]}; }
  Cost cost(Types, Types) const { return {}; }
};

// A linear layer whose rule is wrong. It does not reduce the weight's gradient to the weight's dims, or gives one value
// too few.
struct BadLinear {
  static constexpr std::string_view name = "bad_linear";
  int mistake = 0;
  LayoutRule rule() const { return {.spec = "sbh,fh->sbf", .linear = {{0}, {1}}}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const {
    const Value dx = b.add1(Einsum{"sbf,fh->sbh", DType::f64}, {dys[0], n.ins[1]});
    const Value dw = b.add1(Einsum{mistake == 1 ? "sbf,sbh->hf" : "sbf,sbh->fh", DType::f64}, {dys[0], n.ins[0]});
    if (mistake == 2) return {dx};
    if (mistake == 3) return {b.relayout(dx, groups::tensor, kSame), dw};  // reduces on its own account
    return {dx, dw};
  }
  Cost cost(Types, Types) const { return {}; }
};

}  // namespace

TEST_F(Backward, every_cotangent_has_the_dual_type) {
  const Value x = leaf(b, "x", {4, 2, 8}, kSame), w1 = leaf(b, "w1", {16, 8}, split(0)),
              w2 = leaf(b, "w2", {8, 16}, split(1));
  const Value u = einsum(b, "sbh,fh->sbf", b.relayout(x, tp, kCopy), w1);
  const Value y = b.relayout(einsum(b, "sbf,hf->sbh", u, w2), tp, kSame);
  const Value loss = b.add1(Sum{"sbh->", DType::f64}, {add(b, "sbh,sbh->sbh", x, y)});
  const auto cot = backward(b, loss);
  for (const auto& [v, d] : cot) EXPECT_EQ(b.type(d), b.type(v).dual(DType::f64));
  for (Value v : {x, w1, w2}) EXPECT_TRUE(cot.count(v));
  EXPECT_EQ(transfers(Phase::forward), (std::vector<Transfer>{Transfer::none, Transfer::all_reduce}));
  EXPECT_EQ(transfers(Phase::backward), (std::vector<Transfer>{Transfer::none, Transfer::all_reduce}));
  EXPECT_NO_THROW(verify(g));
}

TEST_F(Backward, terms_are_summed_before_the_one_reduction) {
  const Value x = leaf(b, "x", {4, 2, 8}, split(0));
  std::vector<Value> parts;
  for (const char* name : {"q", "k", "v"})
    parts.push_back(einsum(b, "sbh,fh->sbf", b.relayout(x, tp, kCopy), leaf(b, name, {16, 8}, split(0))));
  const Value sum = add(b, "sbf,sbf->sbf", add(b, "sbf,sbf->sbf", parts[0], parts[1]), parts[2]);
  const Value loss = b.add1(Sum{"sbf->", DType::f64}, {sum});
  backward(b, loss);
  EXPECT_EQ(count(Phase::forward, Transfer::all_gather), 1);
  EXPECT_EQ(count(Phase::backward, Transfer::reduce_scatter), 1);
  EXPECT_EQ(count(Phase::backward, Transfer::all_gather), 1);  // the input again, once for three weight gradients
}

TEST_F(Backward, constants_and_unused_results_get_nothing) {
  const Value x = leaf(b, "x", {4, 2}, kSame), mask = leaf(b, "mask", {4, 2}, kSame, false),
              idle = leaf(b, "idle", {4, 2}, kSame);
  add(b, "sb,sb->sb", x, idle);  // the loss does not depend on it
  const auto cot = backward(b, einsum(b, "sb,sb->", x, mask));
  EXPECT_TRUE(cot.count(x));
  EXPECT_FALSE(cot.count(mask));
  EXPECT_FALSE(cot.count(idle));
}

TEST_F(Backward, a_value_used_twice_gets_the_sum) {
  const Value x = leaf(b, "x", {4, 2}, kSame);
  const auto cot = backward(b, b.add1(Sum{"sb->", DType::f64}, {add(b, "sb,sb->sb", x, x)}));
  EXPECT_EQ(g.nodes[g.info(cot.at(x)).node].op.name(), AddGrad::name);
}

TEST_F(Backward, wrong_gradient_rules_are_errors_at_build_on_one_rank) {
  const Value x = leaf(b, "x", {4, 2, 8}, kCopy), w = leaf(b, "w", {16, 8}, split(0));
  auto build = [&](int mistake) {
    Graph copy = g;
    Builder at(copy);
    const Value y = at.add1(BadLinear{mistake}, {x, w});
    return error_of([&] { backward(at, at.add1(Sum{"sbf->", DType::f64}, {y})); });
  };
  EXPECT_EQ(build(0), "");
  EXPECT_NE(build(1).find("bad_linear"), std::string::npos) << build(1);  // names the op
  EXPECT_NE(build(2), "");
  EXPECT_NE(build(3).find("not the dual"), std::string::npos) << build(3);
}

// An axis of one rank may stand on any factor: only the input's type says on which.
TEST_F(Backward, a_reshapes_gradient_returns_to_the_type_it_came_from) {
  for (int dim : {1, 2}) {
    Graph h;
    Builder at(h);
    const Value x = leaf(at, "x", {4, 2, 3}, split(dim));
    const Value y = at.add1(Reshape{"sgr->s(gr)", {{'g', 2}, {'r', 3}}, {}}, {x});
    const auto cot = backward(at, at.add1(Sum{"sk->", DType::f64}, {y}));
    EXPECT_EQ(at.type(cot.at(x)), at.type(x).dual(DType::f64));
  }
}

TEST_F(Backward, a_cast_without_its_collective_is_an_error) {
  const Value y = leaf(b, "y", {4, 8}, kPartial);
  const Value lie = b.add1(Claim{whole(2)}, {y});
  const std::string e = error_of([&] { backward(b, b.add1(Sum{"sh->", DType::f64}, {lie})); });
  EXPECT_NE(e.find("[claim]"), std::string::npos) << e;
}

}  // namespace megalith
