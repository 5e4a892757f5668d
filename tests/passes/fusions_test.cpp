// Tests of fusions on small models: the remaining nodes, and cases that must not be fused. tests/models verifies that
// results do not change.
#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "small_models.h"
#include "tests/passes/count_ops.h"

namespace megalith {

namespace {

struct Training {
  Graph g;
  int parameters = 0;
};

Training training(const ModelConfig& c, const Mesh& mesh, const std::set<std::string>& off = {}) {
  Training t;
  t.g.mesh = mesh;
  Builder b(t.g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(c).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  run_passes(t.g, standard_passes(), off);
  t.parameters = int(gpt.parameters.size());
  return t;
}

const Mesh kOne = make_mesh({}), kTwo = make_mesh({1, 1, 2, 1});

int added(const Graph& g) {
  return count_ops<Einsum>(g, [](const Einsum& e) { return e.plus; });
}
int biased(const Graph& g) {
  return count_ops<Einsum>(g, [](const Einsum& e) { return e.bias; });
}
template <class Norm>
int residual(const Graph& g) {
  return count_ops<Norm>(g, [](const Norm& n) { return n.residual; });
}

Type f64_of(Shape shape) {
  const size_t n = shape.size();
  return {DType::f64, std::move(shape), whole(n)};
}

}  // namespace

// In the forward, products compute the two residual additions of a layer. In the backward, they compute two of three
// gradient additions before a layer's norm.
TEST(Fusions, products_make_the_sums_of_a_llama) {
  const Graph g = training(llama(), kOne, {"mark-rows"}).g;
  EXPECT_EQ(added(g), 4 * kLayers);
  EXPECT_EQ(residual<RmsNormGrad>(g), 2 * kLayers);
  EXPECT_EQ(count_ops<Add>(g) + count_ops<AddGrad>(g), 0);
  EXPECT_EQ(biased(g), 0);
}

TEST(Fusions, products_make_the_sums_of_a_gpt2) {
  const Graph g = training(gpt2(), kOne).g;
  EXPECT_EQ(biased(g), 6 * kLayers);
  EXPECT_EQ(added(g), 4 * kLayers);
  EXPECT_EQ(residual<LayerNormGrad>(g), 2 * kLayers);
  EXPECT_EQ(count_ops<Add>(g), 1);  // the addition of positions
  EXPECT_EQ(count_ops<AddGrad>(g), 0);
  const int both = count_ops<Einsum>(g, [](const Einsum& e) { return e.plus && e.bias; });
  EXPECT_EQ(both, 2 * kLayers);
}

TEST(Fusions, each_can_be_left_out) {
  EXPECT_EQ(added(training(gpt2(), kOne, {"fuse-add"}).g), 0);
  EXPECT_EQ(biased(training(gpt2(), kOne, {"fuse-bias"}).g), 0);
  EXPECT_EQ(residual<LayerNormGrad>(training(gpt2(), kOne, {"fuse-residual"}).g), 0);
  EXPECT_EQ(count_ops<VocabMaxSums>(training(gpt2(), kOne, {"fuse-loss"}).g), 0);
  const Graph g = training(gpt2(), kOne, {"multi-tensor"}).g;
  EXPECT_EQ(count_ops<MultiUpdate>(g) + count_ops<MultiSumSquares>(g), 0);
}

// A row-parallel product gives a partial sum, which is reduced before the addend is added. So product and addition are
// not fused.
TEST(Fusions, partial_sums_are_reduced_before_anything_is_added) {
  const Graph g = training(gpt2(), kTwo).g;
  EXPECT_EQ(biased(g), 4 * kLayers);  // q, k, v and fc1: column-parallel
  for (const Node& n : g.nodes)
    if (const auto* e = n.op.get_if<Einsum>(); e && e->bias) EXPECT_TRUE(g.type(n.outs[0]).layout.partial.empty());
  for (const Node& n : g.nodes)
    if (const auto* e = n.op.get_if<Einsum>(); e && e->plus) EXPECT_EQ(n.phase, Phase::backward) << print(g, n);
  EXPECT_EQ(count_ops<VocabMax>(g), 1);
  EXPECT_EQ(count_ops<VocabMaxSums>(g), 0);
}

// The fusion covers the biases before each activation. With the residual, it covers those before each norm except the
// first. It also works if ranks divide heads and MLP.
TEST(Fusions, gradients_add_up_those_of_biases) {
  for (const Mesh& mesh : {kOne, kTwo}) {
    const Graph g = training(gpt2(), mesh).g, apart = training(gpt2(), mesh, {"fuse-bias-grad"}).g;
    const auto fused = [](const auto& gradient) { return gradient.bias; };
    EXPECT_EQ(count_ops<ActivateGrad>(g, fused), kLayers);
    EXPECT_EQ(count_ops<LayerNormGrad>(g, fused), 2 * kLayers);
    EXPECT_EQ(count_ops<ActivateGrad>(apart, fused) + count_ops<LayerNormGrad>(apart, fused), 0);
    EXPECT_EQ(count_ops<Sum>(apart) - count_ops<Sum>(g), 3 * kLayers);
  }
  Graph llama_like = training(llama(), kOne, {"fuse-bias-grad"}).g;
  EXPECT_FALSE(fuse_bias_grad(llama_like));
}

TEST(Fusions, the_logits_are_read_once) {
  for (const Mesh& mesh : {kOne, make_mesh({2, 1, 1, 1}), make_mesh({1, 2, 1, 1})}) {  // data, context parallel
    const Graph g = training(llama(), mesh).g;
    EXPECT_EQ(count_ops<VocabLoss>(g), 1);
    EXPECT_EQ(count_ops<VocabMax>(g) + count_ops<VocabSums>(g) + count_ops<VocabMaxSums>(g), 0);
    EXPECT_EQ(count_ops<VocabSumsGrad>(g) + count_ops<CrossEntropyGrad>(g), 0);
    EXPECT_EQ(count_ops<CrossEntropy>(g), 1);
  }
}

// The gradient is missing or another node is between. Then the forward still reads the logits once.
TEST(Fusions, a_loss_whose_gradient_comes_later_is_read_twice) {
  const Graph apart = training(llama(), kOne, {"fuse-loss-grad"}).g;
  EXPECT_EQ(count_ops<VocabMaxSums>(apart), 1);
  EXPECT_EQ(count_ops<VocabSumsGrad>(apart), 1);
  Graph g = training(llama(), kOne, {"fuse-loss-grad", "rematerialize", "hoist", "multi-tensor"}).g;
  for (Node& n : g.nodes)  // the gradient's factor is the loss itself
    if (n.op.get_if<CrossEntropyGrad>())
      for (const Node& loss : g.nodes)
        if (loss.op.get_if<CrossEntropy>()) n.ins[0] = loss.outs[0];
  EXPECT_FALSE(fuse_loss_grad(g));
}

// The accumulated gradients are those of norms and biases, which products do not accumulate.
TEST(Fusions, small_gradients_are_accumulated_together) {
  const Graph g = training(gpt2(), kOne).g, apart = training(gpt2(), kOne, {"multi-tensor"}).g;
  const auto gradients = [](const Graph& in) {
    int n = 0;
    for (const Node& node : in.nodes)
      if (node.op.get_if<Accumulate>()) n += in.type(node.outs[0]).dtype == DType::f32;
    return n;
  };
  EXPECT_EQ(count_ops<MultiAccumulate>(apart), 0);
  ASSERT_EQ(count_ops<MultiAccumulate>(g), 1);
  EXPECT_EQ(gradients(g), 0);
  for (const Node& n : g.nodes)
    if (const auto* all = n.op.get_if<MultiAccumulate>()) EXPECT_EQ(all->tensors, gradients(apart));
  EXPECT_GT(gradients(apart), 8 * kLayers);
}

// A gradient is not fused if it is large, or if a node other than the update reads it.
TEST(Fusions, accumulations_that_cannot_wait_stay) {
  Graph g;
  Builder b(g);
  const Type small{DType::f32, {4}, whole(1)}, large{DType::f32, {1 << 17}, whole(1)};
  std::vector<Value> sums;
  for (const auto& [name, type] : std::map<std::string, Type>{{"a", small}, {"b", small}, {"c", small}, {"d", large}}) {
    const Value acc = b.leaf({name, type}), x = b.leaf({name + " x", type});
    sums.push_back(b.add1(Accumulate{1, true}, {acc, x}));
    if (name == "a") g.outputs["early"] = b.add1(Scale{1, 2.0}, {sums[0]});
  }
  EXPECT_TRUE(multi_tensor(g));
  verify(g);
  EXPECT_EQ(count_ops<Accumulate>(g), 2);
  ASSERT_EQ(count_ops<MultiAccumulate>(g), 1);
  for (const Node& n : g.nodes)
    if (const auto* all = n.op.get_if<MultiAccumulate>()) EXPECT_EQ(all->tensors, 2);
}

TEST(Fusions, the_update_is_one_node_for_all_parameters) {
  for (const ModelConfig& c : {gpt2(), llama()}) {
    const Training t = training(c, kOne, {"mark-rows"});
    EXPECT_EQ(count_ops<SumSquares>(t.g) + count_ops<Update>(t.g), 0);
    ASSERT_EQ(count_ops<MultiSumSquares>(t.g), 1);
    ASSERT_EQ(count_ops<MultiUpdate>(t.g), 1);
    for (const Node& n : t.g.nodes) {
      if (n.op.get_if<MultiSumSquares>()) EXPECT_EQ(int(n.ins.size()), t.parameters);
      if (const auto* m = n.op.get_if<MultiUpdate>()) EXPECT_EQ(m->parameters(), t.parameters);
    }
  }
}

// Rows are marked for a table that is only looked up, on one rank. In a tied table all rows have gradients. A table
// with fewer rows than tokens is read completely.
TEST(Fusions, rows_that_tokens_name_are_marked) {
  const auto marks = [](const auto& op) { return op.marks; };
  const auto all = [&](const Graph& g) {
    return std::vector{count_ops<EmbeddingGrad>(g, marks), count_ops<SumSquares>(g, marks),
                       count_ops<Update>(g, marks)};
  };
  const std::vector<int> none = {0, 0, 0}, one = {1, 1, 1};
  const Graph g = training(llama(), kOne).g;
  EXPECT_EQ(all(g), one);
  for (const Node& n : g.nodes)
    if (const auto* op = n.op.get_if<SumSquares>(); op && op->marks)
      EXPECT_EQ(g.type(n.ins[0]).shape, (Shape{52, 16})) << print(g, n);
  EXPECT_EQ(all(training(llama(), kTwo).g), none);
  EXPECT_EQ(all(training(gpt2(), kOne).g), none);
  ModelConfig narrow = llama();
  narrow.vocab_size = narrow.padded_vocab_size = 16;
  EXPECT_EQ(all(training(narrow, kOne).g), none);
  narrow.vocab_size = narrow.padded_vocab_size = 17;
  EXPECT_EQ(all(training(narrow, kOne).g), one);
}

// If another node reads the gradient, it needs all rows.
TEST(Fusions, gradients_that_others_read_have_no_marks) {
  Graph g = training(llama(), kOne, {"mark-rows", "multi-tensor", "hoist"}).g;
  for (const Node& n : g.nodes)
    if (n.op.get_if<EmbeddingGrad>()) g.outputs["early"] = n.outs[0];
  EXPECT_FALSE(mark_rows(g));
  g.outputs.erase("early");
  EXPECT_TRUE(mark_rows(g));
  verify(g);
  EXPECT_FALSE(mark_rows(g));
}

// Sums of squares with the same reduction are added first, and then reduced once.
TEST(Fusions, squares_of_one_layout_move_between_ranks_together) {
  const Training t = training(gpt2(), kTwo);
  const int relayouts = count_ops<Relayout>(training(gpt2(), kTwo, {"multi-tensor"}).g) - count_ops<Relayout>(t.g);
  EXPECT_EQ(count_ops<MultiSumSquares>(t.g), 2);  // one for split parameters, one for parameters on every rank
  EXPECT_GT(relayouts, 5);
  int squared = 0;
  for (const Node& n : t.g.nodes)
    if (n.op.get_if<MultiSumSquares>()) squared += int(n.ins.size());
  EXPECT_EQ(squared + count_ops<SumSquares>(t.g), t.parameters);
  EXPECT_EQ(count_ops<MultiUpdate>(t.g), 1);
}

TEST(Fusions, a_product_with_another_use_stays) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_of({3, 5})}), w = b.leaf({"w", f64_of({4, 5})}), c = b.leaf({"c", f64_of({3, 4})});
  const Value bias = b.leaf({"bias", f64_of({4})});
  const Value y = einsum(b, "sh,fh->sf", x, w);
  g.outputs["sum"] = add(b, "sf,sf->sf", c, y);
  g.outputs["biased"] = add(b, "sf,f->sf", y, bias);
  EXPECT_FALSE(fuse_bias(g));
  EXPECT_FALSE(fuse_add(g));
  EXPECT_NO_THROW(verify(g));
}

TEST(Fusions, what_is_computed_after_the_product_is_not_added_by_it) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_of({3, 5})}), w = b.leaf({"w", f64_of({4, 5})}), c = b.leaf({"c", f64_of({3, 4})});
  const Value y = einsum(b, "sh,fh->sf", x, w);
  g.outputs["sum"] = add(b, "sf,sf->sf", y, b.add1(Scale{2, 2.0}, {c}));
  EXPECT_FALSE(fuse_add(g));
}

TEST(Fusions, a_sum_of_a_product_with_itself_stays) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_of({3, 5})}), w = b.leaf({"w", f64_of({4, 5})});
  const Value y = einsum(b, "sh,fh->sf", x, w);
  g.outputs["sum"] = add(b, "sf,sf->sf", y, y);
  EXPECT_FALSE(fuse_add(g));
  EXPECT_NO_THROW(verify(g));
}

TEST(Fusions, fused_forms_refuse_what_does_not_fit) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_of({3, 5})}), w = b.leaf({"w", f64_of({4, 5})}), c = b.leaf({"c", f64_of({3, 4})});
  const Value narrow = b.leaf({"narrow", {DType::f32, {3, 4}, whole(2)}}), bias = b.leaf({"bias", f64_of({4})});
  Einsum e{"sh,fh->sf", DType::f64};
  e.plus = true;
  EXPECT_NO_THROW(b.add(e, {x, w, c}));
  EXPECT_THROW(b.add(e, {x, w, narrow}), Error);
  EXPECT_THROW(b.add(e, {x, w}), Error);
  e.plus = false, e.bias = true;
  EXPECT_NO_THROW(b.add(e, {x, w, bias}));
  EXPECT_THROW(b.add(e, {x, w, x}), Error);
  e.accumulate = true;
  EXPECT_THROW(b.add(e, {x, w, c, bias}), Error);
}

}  // namespace megalith
