// Tests that products overlap the backward's gathers for weight gradients. The gathered value is kept by the forward or
// recomputed. Measures the gain on a simulated GPU.
#include <gtest/gtest.h>

#include "exec/sim/simulator.h"
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "passes/quantize.h"
#include "plan/plan.h"
#include "small_models.h"

namespace megalith {

namespace {

Graph trained(const ModelConfig& model, const Mesh& mesh, bool remade, DType dtype = DType::f32,
              bool sequence_parallel = true, const QuantizeConfig& codes = {}) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 1, mode.precision = computing_in(dtype);
  const Built gpt = Gpt(model, ParallelStyle{.sequence_parallel = sequence_parallel}).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  if (codes.on()) quantize(g, {codes, model.num_layers, 1});
  run_passes(g, standard_passes(), remade ? std::set<std::string>{} : std::set<std::string>{"rematerialize"});
  return g;
}

// Counts the backward's transfers of this kind that are started early: all, and those with a product between start and
// wait.
struct Transfers {
  int all = 0, beside = 0;
};
Transfers transfers(const Graph& g, Transfer kind = Transfer::all_gather) {
  Transfers out;
  std::map<Value, int> begun;  // number of products before the start
  int products = 0;
  for (const Node& n : g.nodes) {
    products += n.op.get_if<Einsum>() || n.op.get_if<QuantizedProduct>();
    if (const auto* r = n.op.get_if<Relayout>(); r && n.phase == Phase::backward && r->transfer == kind) {
      ++out.all;
      if (r->lane) begun[n.outs[0]] = products;
    }
    if (n.op.get_if<Wait>() && begun.count(n.ins[0])) out.beside += begun.at(n.ins[0]) < products;
  }
  return out;
}

}  // namespace

// The two cotangents of a layer are needed immediately. Its two normed inputs are not.
TEST(OverlapTensor, what_is_gathered_for_weight_gradients_has_products_beside_it) {
  for (const ModelConfig& model : {gpt2(), llama()})
    for (const bool remade : {false, true}) {
      Graph g = trained(model, make_mesh({1, 1, 2, 1}), remade);
      const Transfers before = transfers(g);
      EXPECT_EQ(before.beside, 0);
      EXPECT_TRUE(overlap_tensor(g));
      verify(g);
      EXPECT_EQ(transfers(g).all, before.all);
      EXPECT_GE(transfers(g).beside, 2 * kLayers) << remade;
    }
}

// Casts to codes are between a transfer and the weight gradients. The pass delays both.
TEST(OverlapTensor, what_is_cast_for_weight_gradients_has_products_beside_it) {
  using Recipe = QuantizeConfig::Recipe;
  for (const Recipe recipe : {Recipe::delayed, Recipe::tensorwise})
    for (const bool remade : {false, true}) {
      const QuantizeConfig codes{.format = QuantizeConfig::Format::hybrid, .recipe = recipe};
      Graph g = trained(llama(), make_mesh({1, 1, 2, 1}), remade, DType::bf16, true, codes);
      const Transfers before = transfers(g);
      EXPECT_TRUE(overlap_tensor(g));
      verify(g);
      EXPECT_EQ(transfers(g).all, before.all);
      EXPECT_GE(transfers(g).beside, 2 * kLayers) << remade;
    }
}

// A transfer reads its operands until its wait, so they stay allocated until then.
TEST(OverlapTensor, the_end_of_a_transfer_holds_what_it_reads) {
  Graph g = trained(llama(), make_mesh({1, 1, 2, 1}), true);
  overlap_tensor(g);
  int waits = 0;
  for (const Node& n : g.nodes)
    if (n.op.get_if<Wait>()) {
      ++waits;
      EXPECT_EQ(n.ins.at(1).id, g.nodes[size_t(g.info(n.ins[0]).node)].ins[0].id);
    }
  EXPECT_GT(waits, 4 * kLayers);
}

// A value that the forward kept exists already. So its gather starts before the preceding transfer, not after it.
TEST(OverlapTensor, a_kept_value_is_gathered_before_the_transfer_before) {
  Graph g = trained(llama(), make_mesh({1, 1, 2, 1}), false);
  overlap_tensor(g);
  int kept = 0;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    const auto* r = n.op.get_if<Relayout>();
    if (!r || !r->lane || r->transfer != Transfer::all_gather || n.phase != Phase::backward) continue;
    const int maker = g.info(n.ins[0]).node;
    if (maker >= 0 && g.nodes[size_t(maker)].phase != Phase::forward) continue;
    ++kept;
    EXPECT_NE(g.nodes[i + 1].op.get_if<Relayout>(), nullptr) << print(g, g.nodes[i + 1]);
  }
  EXPECT_GE(kept, 2 * kLayers);
}

// Without sequence parallelism, an all-reduce sums the input gradients of a layer's two column-parallel products.
TEST(OverlapTensor, sums_over_all_ranks_have_products_beside_them) {
  Graph g = trained(llama(), make_mesh({1, 1, 2, 1}), true, DType::f32, false);
  EXPECT_TRUE(overlap_tensor(g));
  verify(g);
  EXPECT_GE(transfers(g, Transfer::all_reduce).beside, 2 * kLayers);
}

TEST(OverlapTensor, a_simulated_gpu_waits_less) {
  ModelConfig model = llama();
  model.hidden_size = 4096, model.ffn_hidden_size = 14336, model.num_attention_heads = 32, model.num_query_groups = 8;
  model.kv_channels = 128, model.seq_length = model.max_position_embeddings = 8192;
  const Mesh mesh = make_mesh({1, 1, 2, 1});
  const auto exposed = [&](bool overlapped) {
    Graph g = trained(model, mesh, true, DType::bf16);
    if (overlapped) overlap_tensor(g);
    const Plan plan = plan_memory(mesh, {{"step", &g, {Phase::forward, Phase::backward}}},
                                  [](const Graph&, const Node&) { return i64{0}; });
    const sim::Estimate e = simulate(plan, plan.programs[0], sim::h200());
    return e.by_op.at("relayout").seconds + (overlapped ? e.by_op.at("wait").seconds : 0);  // seconds that it waits
  };
  EXPECT_LT(exposed(true), 0.7 * exposed(false));
}

}  // namespace megalith
