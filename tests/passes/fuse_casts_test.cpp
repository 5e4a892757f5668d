// Ops whose result is only cast write codes. Several casts of a value read it once.
#include <gtest/gtest.h>

#include "exec/cuda_needs/coded_tiles.h"
#include "exec/cuda_needs/gpu_sizes.h"
#include "models/gpt/gpt.h"
#include "ops/coded_result.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "passes/gradients.h"
#include "passes/quantize.h"
#include "small_models.h"
#include "tests/passes/count_ops.h"

namespace megalith {

namespace {

using Format = QuantizeConfig::Format;
using Recipe = QuantizeConfig::Recipe;

constexpr int kModelLayers = 4;

// A model after the standard passes, whose rows and sequences have whole blocks.
Graph passed(const QuantizeConfig& config, const std::set<std::string>& off = {}, const Mesh& mesh = make_mesh({})) {
  ModelConfig model = llama();
  model.num_layers = kModelLayers, model.hidden_size = 256, model.ffn_hidden_size = 384, model.kv_channels = 64;
  model.seq_length = model.max_position_embeddings = 128;
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 2, mode.precision = computing_in(DType::bf16);
  const Built gpt = Gpt(model, {.sequence_parallel = mesh.num_ranks() > 1}).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  quantize(g, {config, model.num_layers, 1});
  run_passes(g, standard_passes(), off);
  return g;
}

bool fuse_casts_for_gpu(Graph& g) {
  return fuse_casts(g, [](const Graph& of, const Node& n) { return cuda::has_coded_kernel(of, n, {}); });
}

int casts(const Graph& g) { return count_ops<Quantize>(g); }
template <class T>
int coded(const Graph& g, size_t casts) {
  return count_ops<CodedResult>(
      g, [&](const CodedResult& op) { return op.op && op.op->get_if<T>() && op.casts.size() == casts; });
}
int pairs_of_values(const Graph& g) {
  return count_ops<CodedResult>(g, [](const CodedResult& op) { return !op.op && op.casts.size() == 2; });
}

}  // namespace

// Of each layer four values are cast on the way: the inputs of q, k, v, of fc1 and of fc2, and fc1's gradient.
TEST(FuseCasts, by_kept_scales_on_the_way) {
  Graph g = passed({.format = Format::hybrid, .recipe = Recipe::delayed});
  const int before = casts(g);
  EXPECT_TRUE(fuse_casts_for_gpu(g));
  verify(g);
  EXPECT_EQ(coded<Swiglu>(g, 1), kModelLayers);
  EXPECT_EQ(coded<SwigluGrad>(g, 1), kModelLayers);
  EXPECT_EQ(coded<RmsNorm>(g, 1), 2 * kModelLayers);
  EXPECT_EQ(count_ops<CodedResult>(g), 4 * kModelLayers);
  EXPECT_EQ(casts(g), before - 4 * kModelLayers);
  EXPECT_EQ(count_ops<Swiglu>(g) + count_ops<SwigluGrad>(g), 0);
  EXPECT_FALSE(fuse_casts_for_gpu(g));
}

// x and dy of each linear layer have blocks of features and blocks of tokens: 4 of x; dy of q, k, v and 3 others.
TEST(FuseCasts, both_casts_by_blocks_at_once) {
  Graph g = passed({.format = Format::hybrid, .recipe = Recipe::blockwise});
  const int before = casts(g);
  EXPECT_TRUE(fuse_casts_for_gpu(g));
  verify(g);
  EXPECT_EQ(coded<Swiglu>(g, 2), kModelLayers);
  EXPECT_EQ(coded<SwigluGrad>(g, 2), kModelLayers);
  EXPECT_EQ(coded<RmsNorm>(g, 2), 2 * kModelLayers);
  EXPECT_EQ(pairs_of_values(g), kModelLayers * (1 + 5));
  EXPECT_EQ(casts(g), before - 2 * kModelLayers * (4 + 6));
  EXPECT_FALSE(fuse_casts_for_gpu(g));
}

// A scale that follows from all values is not known while they are made. Ranks that hold parts of a tensor share it.
TEST(FuseCasts, not_by_a_scale_of_all_values) {
  Graph tensorwise = passed({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  EXPECT_FALSE(fuse_casts_for_gpu(tensorwise));
  Graph shared = passed({.format = Format::hybrid, .recipe = Recipe::delayed}, {}, make_mesh({1, 1, 2, 1}));
  EXPECT_FALSE(fuse_casts_for_gpu(shared));
}

// The phases are separate programs in a pipeline. A kernel of one cannot compute the other's values.
TEST(FuseCasts, not_in_another_phase) {
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    Graph g;
    g.mesh = make_mesh({});
    Builder b(g);
    const Value y = swiglu(b, b.leaf({"x", {DType::bf16, {128, 1, 2, 128}, whole(4)}}));
    b.set_phase(phase);
    const Quantize cast{.scaling = Scaling::power_of_two, .box = {1, 1, 128}};
    const std::vector<Value> codes = b.add(cast, {y});
    g.outputs["codes"] = codes[0], g.outputs["scale"] = codes[1];
    EXPECT_EQ(fuse_casts_for_gpu(g), phase == Phase::forward);
    verify(g);
  }
}

// Without weight gradients in fp8 dw reads the values, so they are written. (Unless the backward makes them again.)
TEST(FuseCasts, not_where_values_have_other_readers) {
  Graph g = passed({.format = Format::hybrid, .recipe = Recipe::delayed, .weight_gradients = false}, {"rematerialize"});
  EXPECT_FALSE(fuse_casts_for_gpu(g));
  Graph output = passed({.format = Format::hybrid, .recipe = Recipe::delayed});
  for (const Node& n : output.nodes)
    if (n.op.get_if<Swiglu>()) output.outputs[fmt::format("y {}", n.outs[0].id)] = n.outs[0];
  EXPECT_TRUE(fuse_casts_for_gpu(output));
  EXPECT_EQ(coded<Swiglu>(output, 1), 0);
  EXPECT_EQ(coded<SwigluGrad>(output, 1), kModelLayers);
}

}  // namespace megalith
