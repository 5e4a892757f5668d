// Tokens go to experts and back beside the shared expert; and what a simulated GPU gains.
#include <gtest/gtest.h>

#include "exec/sim/simulator.h"
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "small_models.h"

namespace megalith {

namespace {

ModelConfig mixture() {
  ModelConfig c = llama();
  c.moe.num_experts = 4, c.moe.ffn_hidden_size = 12, c.moe.shared_expert_intermediate_size = 20;
  c.moe.aux_loss_coeff = {0.1};
  return c;
}

Graph trained(const ModelConfig& model, const Mesh& mesh, const ParallelStyle& style = {}, DType dtype = DType::f32) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 4, mode.precision = computing_in(dtype);
  const Built gpt = Gpt(model, style).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  run_passes(g, standard_passes());
  return g;
}

// Of the transfers between ranks of experts in layer 1: "forward all_gather", and the ops of the shared expert between
// its beginning and its end; its weight gradients are of no module.
std::map<std::string, std::vector<std::string>> beside(const Graph& g) {
  std::map<std::string, std::vector<std::string>> out;
  std::map<Value, std::string> open;
  for (const Node& n : g.nodes) {
    if (const auto* r = n.op.get_if<Relayout>(); r && r->lane && n.origin.layer == 1)
      open[n.outs[0]] = fmt::format("{} {}", name_of(n.phase), name_of(r->transfer));
    if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
    const auto* product = n.op.get_if<Einsum>();
    const bool adds = product && product->accumulate;  // into a weight's gradient
    if (!adds && (n.origin.module != "shared_experts" || n.origin.layer != 1)) continue;
    for (const auto& [v, name] : open) out[name].push_back(adds ? "weight gradient" : std::string(n.op.name()));
  }
  return out;
}

bool has(const std::vector<std::string>& ops, const char* op) { return std::ranges::count(ops, op) > 0; }

}  // namespace

// On ranks of tp the last product of the shared expert adds nothing, and can stand beside the sum.
TEST(OverlapExperts, the_shared_expert_is_beside_what_goes_to_experts_and_back) {
  for (const bool tensor : {false, true}) {
    Graph g = trained(mixture(), tensor ? make_mesh({.tp_kv = 2, .ep = 2, .etp = 1}) : make_mesh({.dp = 4, .ep = 4}),
                      {.sequence_parallel = tensor});
    EXPECT_TRUE(beside(g).empty());
    const size_t nodes = g.nodes.size();
    run_passes(g, {{"overlap-experts", overlap_experts}});
    auto at = beside(g);
    EXPECT_TRUE(has(at["forward all_gather"], "einsum")) << tensor;
    EXPECT_TRUE(has(at["forward all_gather"], "swiglu")) << tensor;
    EXPECT_EQ(has(at["forward reduce_scatter"], "einsum"), tensor);
    EXPECT_TRUE(has(at["backward all_gather"], "swiglu_grad")) << tensor;
    EXPECT_GE(std::ranges::count(at["backward all_gather"], "einsum"), 2) << tensor;
    // Of the second product; that of the first is for tokens that are made again, and beside their gather.
    EXPECT_EQ(at["backward reduce_scatter"], (std::vector<std::string>(1, "weight gradient"))) << tensor;
    EXPECT_GE(std::ranges::count(at["backward all_gather"], "weight gradient"), 2) << tensor;
    size_t waits = 0;
    for (const Node& n : g.nodes) waits += n.op.get_if<Wait>() != nullptr;
    EXPECT_EQ(g.nodes.size(), nodes + waits);
  }
}

TEST(OverlapExperts, nothing_happens_without_both) {
  ModelConfig plain = mixture();
  plain.moe.shared_expert_intermediate_size = 0;
  Graph no_shared = trained(plain, make_mesh({.dp = 4, .ep = 4})), one_rank = trained(mixture(), make_mesh({}));
  EXPECT_FALSE(overlap_experts(no_shared));
  EXPECT_FALSE(overlap_experts(one_rank));
}

TEST(OverlapExperts, a_simulated_gpu_waits_less) {
  ModelConfig model = mixture();
  model.hidden_size = 2048, model.num_attention_heads = 16, model.num_query_groups = 16, model.kv_channels = 128;
  model.seq_length = model.max_position_embeddings = 1024;
  model.moe.num_experts = 16, model.moe.ffn_hidden_size = 1408, model.moe.shared_expert_intermediate_size = 5632;
  const Mesh mesh = make_mesh({.dp = 4, .ep = 4});
  const auto exposed = [&](bool overlapped) {
    Graph g = trained(model, mesh, {}, DType::bf16);
    if (overlapped) overlap_experts(g);
    const Plan plan = plan_memory(mesh, {{"step", &g, {Phase::forward, Phase::backward}}},
                                  [](const Graph&, const Node&) { return i64{0}; });
    const sim::Estimate e = simulate(plan, plan.programs[0], sim::h200());
    return e.by_op.at("relayout").seconds + (overlapped ? e.by_op.at("wait").seconds : 0);
  };
  EXPECT_LT(exposed(true), 0.6 * exposed(false));
}

}  // namespace megalith
