// Training steps with and without recomputation, on one rank and on several: the same bits.
#include <gtest/gtest.h>

#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

using Granularity = RecomputeConfig::Granularity;
using Method = RecomputeConfig::Method;

std::vector<RecomputeConfig> recompute_ways() {
  std::vector<RecomputeConfig> out;
  for (Method method : {Method::uniform, Method::block})
    for (i64 layers : {1, 2}) out.push_back({Granularity::full, method, layers, {}});
  for (const std::vector<std::string>& modules : {std::vector<std::string>{"mlp"},
                                                  {"layernorm"},
                                                  {"mlp", "layernorm"},
                                                  {"core_attn"},
                                                  {"mla_up_proj", "layernorm"},
                                                  {"moe"},
                                                  {"moe_act"},
                                                  {"shared_experts"},
                                                  {"moe", "layernorm"}})
    out.push_back({Granularity::selective, Method::none, 0, modules});
  return out;
}

void expect_same_bits(TrainingSpec spec) {
  const Batch batch = make_batch(spec.model, spec.documents);
  Training plain(spec, batch);
  const Tensors at = initial_values(plain.parameters());
  const StepResult want = plain.step(at);
  for (const RecomputeConfig& way : recompute_ways()) {
    spec.recompute = way;
    SCOPED_TRACE(fmt::format("granularity {} method {} layers {} modules {}", int(way.granularity), int(way.method),
                             way.num_layers, fmt::join(way.modules, " ")));
    const StepResult got = Training(spec, batch).step(at);
    EXPECT_EQ(got.loss, want.loss);
    EXPECT_EQ(got.norm, want.norm);
    EXPECT_EQ(got.terms, want.terms);
    for (const auto& [name, g] : want.gradients) EXPECT_EQ(max_difference(g, got.gradients.at(name)), 0) << name;
    for (const auto& [name, w] : want.after) EXPECT_EQ(max_difference(w, got.after.at(name)), 0) << name;
  }
}

TrainingSpec spec_of(const ModelConfig& model, const Mesh& mesh, ParallelStyle style = {}) {
  return {.model = model, .mesh = mesh, .style = style, .micro_batches = 2};
}

}  // namespace

TEST(Recompute, gives_the_same_bits_on_one_rank) {
  for (const ModelConfig& model : {llama_like(), gpt2_like()}) expect_same_bits(spec_of(model, make_mesh({})));
  ModelConfig falcon = llama_like(), norms = llama_like();
  falcon.parallel_residual = falcon.parallel_shared_norm = true;
  norms.parallel_residual = norms.qk_layernorm = true;
  expect_same_bits(spec_of(falcon, make_mesh({})));
  expect_same_bits(spec_of(norms, make_mesh({})));
  expect_same_bits(spec_of(mla_like(), make_mesh({})));
}

TEST(Recompute, gives_the_same_bits_on_several_ranks) {
  expect_same_bits(spec_of(gpt2_like(), make_mesh({1, 1, 2, 1}), {true, Order::block, false}));
  expect_same_bits(spec_of(llama_like(), make_mesh({1, 2, 2, 1}), {true, Order::zigzag, false}));
  expect_same_bits(spec_of(llama_like(), make_mesh({2, 1, 2, 1})));
  expect_same_bits(spec_of(mla_like(), make_mesh({1, 2, 2, 1}), {true, Order::zigzag, false}));
}

// Queries, keys and values are not kept; the latents are.
TEST(Recompute, mla_up_proj_saves_memory) {
  TrainingSpec spec = spec_of(mla_like(), make_mesh({}));
  spec.model.num_layers = 12;
  const auto bytes = [&] {
    TrainingGraph t = build_training(spec);
    return plan_training(spec, t).arena_bytes;
  };
  const i64 without = bytes();
  spec.recompute = {Granularity::selective, Method::none, 0, {"mla_up_proj"}};
  const MlaConfig& mla = spec.model.mla;
  const i64 tokens = spec.model.seq_length * spec.samples / spec.micro_batches;
  const i64 layer = tokens * spec.model.num_attention_heads * (2 * mla.head() + mla.v_head_dim) * i64(sizeof(double));
  EXPECT_LT(bytes(), without - 8 * layer);  // of twelve
}

TEST(Recompute, gives_the_same_bits_with_experts) {
  ModelConfig model = mixture();
  model.moe.shared_expert_intermediate_size = 20, model.moe.shared_expert_gate = true;
  expect_same_bits(spec_of(model, make_mesh({})));
  expect_same_bits(spec_of(model, make_mesh({.dp = 2, .tp_kv = 2, .ep = 4, .etp = 1}), {true, Order::block, false}));
  TrainingSpec spec = spec_of(model, make_mesh({}));
  spec.passes_off = {"rematerialize"};
  expect_same_bits(spec);
}

// What a router counts is counted once.
TEST(Recompute, gives_the_same_bits_with_balanced_experts) {
  ModelConfig model = mixture();
  MoeConfig& m = model.moe;
  m.router_load_balancing_type = {"aux_loss", "seq_aux_loss", "global_aux_loss"}, m.aux_loss_coeff = {0.3, 0.2, 0.1};
  m.z_loss_coeff = 0.1, m.router_score_function = RouterScore::sigmoid, m.router_enable_expert_bias = true;
  expect_same_bits(spec_of(model, make_mesh({})));
  expect_same_bits(spec_of(model, make_mesh({.dp = 2, .tp_kv = 2, .ep = 4, .etp = 1}), {true, Order::block, false}));
}

TEST(Recompute, gives_the_same_bits_without_the_other_passes) {
  TrainingSpec spec = spec_of(gpt2_like(), make_mesh({}));
  spec.passes_off = {"fuse-accumulate", "fuse-add", "fuse-bias", "fuse-residual", "hoist"};
  expect_same_bits(spec);
}

}  // namespace megalith::harness
