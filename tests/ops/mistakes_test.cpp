// Rule lines made wrong on purpose: the layout check notices each.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/ops/check_op.h"

namespace megalith::harness {

namespace {

// The op T with another rule; everything else, and the kernel that runs, is T's.
template <class T>
struct Mutated {
  static constexpr std::string_view name = "mutated";
  T op;
  LayoutRule changed;
  void fields(auto&& v) const { v("op", T::name), v("spec", changed.spec); }
  LayoutRule rule() const { return changed; }
  std::vector<DType> dtypes(Types ins) const {
    if constexpr (requires { op.dtypes(ins); })
      return op.dtypes(ins);
    else
      return {};
  }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const { return op.grad(b, n, dys); }
  Cost cost(Types ins, Types outs) const { return op.cost(ins, outs); }
};

// Every case of T in the table, with its rule changed by `change`: how many assignments come out wrong. The unchanged
// rule's are right.
template <class T, class F>
void expect_noticed(const std::string& mistake, F&& change) {
  int wrong = 0, cases = 0;
  for (OpCase c : op_cases(layout_sizes())) {
    const T* op = c.op.get_if<T>();
    if (!op) continue;
    if constexpr (requires { op->accumulate; })
      if (op->accumulate) continue;  // its third input is not in the rule
    if constexpr (requires { op->plus; })
      if (op->plus || op->bias) continue;  // likewise
    if constexpr (requires { op->with_output; })
      if (op->with_output) continue;  // nor its last result
    if constexpr (requires { op->bias; })
      if (op->bias) continue;
    if constexpr (requires { op->gives_amax; })
      if (op->gives_amax) continue;
    LayoutRule rule = op->rule();
    change(rule);
    c.runs = c.op;
    c.op = Mutated<T>{*op, rule};
    wrong += int(check_layouts(c, false).wrong.size());
    ++cases;
  }
  std::cout << fmt::format("{}: {} assignments wrong\n", mistake, wrong);
  EXPECT_GT(cases, 0);
  EXPECT_GT(wrong, 0) << "not noticed: " << mistake;
}

void may_split_anything(LayoutRule& r) { r.whole.clear(); }

}  // namespace

TEST(RuleMistakes, dims_that_must_be_whole) {
  expect_noticed<RmsNorm>("rms_norm may split h", may_split_anything);
  expect_noticed<LayerNorm>("layer_norm may split h", may_split_anything);
  expect_noticed<Swiglu>("swiglu may split gate from up", may_split_anything);
  expect_noticed<Rope>("rope may split d", may_split_anything);
  expect_noticed<CrossEntropy>("cross_entropy may split its two sums", may_split_anything);
}

TEST(RuleMistakes, attention_may_split_keys) {
  expect_noticed<Attention>("attention may split t", [](LayoutRule& r) { r.whole = "d"; });
}

TEST(RuleMistakes, false_linearity) {
  expect_noticed<Activate>("an activation is linear", [](LayoutRule& r) { r.linear = {{0}}; });
  expect_noticed<Add>("add is linear in one input", [](LayoutRule& r) { r.linear.push_back({0}); });
  expect_noticed<Einsum>("a product is jointly linear", [](LayoutRule& r) { r.linear.push_back({0, 1}); });
  expect_noticed<RmsNorm>("rms_norm is linear in its weight and input at once", [](LayoutRule& r) {
    r.linear = {{0, 1}};
  });
  expect_noticed<Attention>("attention is linear in q", [](LayoutRule& r) { r.linear = {{0}}; });
  expect_noticed<VocabSums>("vocab_sums is linear", [](LayoutRule& r) { r.linear = {{0}}; });
}

TEST(RuleMistakes, what_a_summed_letter_leaves) {
  expect_noticed<Einsum>("a split contraction leaves a maximum", [](LayoutRule& r) { r.reduction = Reduction::max; });
  expect_noticed<VocabMax>("a maximum is a sum", [](LayoutRule& r) { r.reduction = Reduction::partial; });
}

TEST(RuleMistakes, gradient_ops) {
  expect_noticed<RmsNormGrad>("rms_norm_grad is linear in x", [](LayoutRule& r) { r.linear.push_back({1}); });
  expect_noticed<ActivateGrad>("activate_grad is linear in x", [](LayoutRule& r) { r.linear.push_back({1}); });
  expect_noticed<AttentionGrad>("attention_grad may split keys", [](LayoutRule& r) { r.whole = "d"; });
}

}  // namespace megalith::harness
