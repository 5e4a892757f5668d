// Values that gradients rematerialize are not kept, in any order of the passes. Tests also the cases where that is
// impossible. tests/models verifies that no bit changes, tests/kernels the kernels' results.
#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "small_models.h"

namespace megalith {

namespace {

Graph rematerialized_training(const ModelConfig& c, const Mesh& mesh, const ParallelStyle& style = {},
                              const std::set<std::string>& off = {}) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(c, style).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  run_passes(g, standard_passes(), off);
  return g;
}

int made_again(const Graph& g) {
  return int(std::ranges::count_if(g.nodes, [](const Node& n) { return rematerialized_output(n.op) >= 0; }));
}

// Counts results of the forward's norms and activations that the backward reads, directly or through a relayout.
int still_kept(const Graph& g) {
  std::set<Value> read;
  for (const Node& n : g.nodes)
    if (n.phase == Phase::backward) read.insert(n.ins.begin(), n.ins.end());
  for (const Node& n : g.nodes)
    if (n.op.name() == Relayout::name && n.phase == Phase::forward && read.count(n.outs[0])) read.insert(n.ins[0]);
  int count = 0;
  for (const Node& n : g.nodes) {
    const bool kind = n.op.name() == Swiglu::name || n.op.name() == Activate::name || n.op.name() == RmsNorm::name ||
                      n.op.name() == LayerNorm::name;
    count += kind && n.phase == Phase::forward && read.count(n.outs[0]);
  }
  return count;
}

const Mesh kOneRank = make_mesh({}), kTwoRanks = make_mesh({1, 1, 2, 1});
constexpr int kPlaces = 3 * kLayers + 1;  // two norms and an activation per layer, and the last norm

}  // namespace

TEST(Rematerialize, no_result_of_a_norm_or_an_activation_is_kept) {
  const std::set<std::string> ways[] = {
      {}, {"hoist"}, {"fuse-accumulate"}, {"fuse-accumulate", "hoist"}, {"fuse-residual", "fuse-add", "fuse-bias"}};
  for (const ModelConfig& c : {gpt2(), llama()})
    for (const Mesh& mesh : {kOneRank, kTwoRanks})
      for (const ParallelStyle& style : {ParallelStyle{}, ParallelStyle{.sequence_parallel = true}})
        for (const std::set<std::string>& off : ways) {
          const Graph g = rematerialized_training(c, mesh, style, off);
          EXPECT_EQ(made_again(g), kPlaces);
          EXPECT_EQ(still_kept(g), 0);
        }
  EXPECT_EQ(made_again(rematerialized_training(llama(), kOneRank, {}, {"rematerialize"})), 0);
  EXPECT_EQ(still_kept(rematerialized_training(llama(), kOneRank, {}, {"rematerialize"})), kPlaces);
}

TEST(Rematerialize, can_be_run_twice) {
  Graph g = rematerialized_training(gpt2(), kOneRank);
  EXPECT_FALSE(rematerialize(g));
  EXPECT_NO_THROW(verify(g));
}

// The result of one norm is the residual stream. Gradients of later norms read it before that norm's own gradient runs.
TEST(Rematerialize, what_is_needed_before_its_gradient_is_kept) {
  ModelConfig bloom = gpt2();
  bloom.position_embedding_type = PositionEmbedding::alibi, bloom.embedding_layernorm = true;
  const Graph g = rematerialized_training(bloom, kOneRank);
  EXPECT_EQ(made_again(g), kPlaces);
  EXPECT_EQ(still_kept(g), 1);
}

// No product reads the norms of queries and keys. Their results are not kept in any case.
TEST(Rematerialize, what_nobody_reads_is_not_made) {
  ModelConfig c = llama();
  c.qk_layernorm = true;
  for (const Node& n : rematerialized_training(c, kOneRank).nodes)
    if (const auto* norm = n.op.get_if<RmsNormGrad>(); norm && norm->x != "sbh") {
      EXPECT_FALSE(norm->with_output);
    }
}

TEST(Rematerialize, an_output_is_not_touched) {
  Graph g;
  Builder b(g);
  const auto leaf = [&](const char* name, Shape shape) {
    const size_t n = shape.size();
    return b.leaf({name, {DType::f64, std::move(shape), whole(n)}, Role::parameter, true});
  };
  const Value x = leaf("x", {3, 2, 5}), w = leaf("w", {4, 5});
  const Value y = activate(b, Act::gelu, x);
  const Value z = einsum(b, "sbh,fh->sbf", y, w);
  const Value loss = b.add1(Sum{"sbf->", DType::f64}, {z});
  const std::map<Value, Value> cot = backward(b, loss);
  g.outputs = {{"dx", cot.at(x)}, {"dw", cot.at(w)}, {"y", y}};
  EXPECT_FALSE(rematerialize(g));
  g.outputs.erase("y");
  EXPECT_TRUE(rematerialize(g));
  EXPECT_NO_THROW(verify(g));
  EXPECT_EQ(still_kept(g), 0);
}

}  // namespace megalith
