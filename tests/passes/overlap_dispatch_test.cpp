// Tokens go to experts and back beside what does not need them; and what a simulated GPU gains.
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

ModelConfig small_mixture() {
  ModelConfig c = llama();
  c.moe.num_experts = 4, c.moe.ffn_hidden_size = 12;
  return c;
}

Graph passed(const ModelConfig& model, const Mesh& mesh, const ParallelStyle& style = {}, DType dtype = DType::f32) {
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

bool adds(const Node& n) {
  return std::ranges::any_of(n.op.aliases(), [](const Alias& a) { return a.must; });
}

// Of layer 0: what stands between the beginning and the end of "forward all_gather bf16" and the like.
std::map<std::string, std::vector<std::string>> between(const Graph& g) {
  std::map<std::string, std::vector<std::string>> out;
  std::map<Value, std::string> open;
  for (const Node& n : g.nodes) {
    for (const auto& [v, name] : open)
      if (!n.op.get_if<Relayout>() && !n.op.get_if<Wait>())
        out[name].push_back((adds(n) ? "gradient by " : "") + std::string(n.op.name()));
    if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
    const auto* r = n.op.get_if<Relayout>();
    if (!r || !r->lane || n.origin.layer != 0) continue;
    const bool tokens = g.type(n.outs[0]).dim(-1) == llama().hidden_size;
    const std::string name =
        fmt::format("{} {} {}", name_of(n.phase), name_of(r->transfer), tokens ? "tokens" : "weights");
    open[n.outs[0]] = out.count(name) ? name + " again" : name, out[open[n.outs[0]]];
  }
  EXPECT_TRUE(open.empty());
  return out;
}

i64 count_of(const std::vector<std::string>& ops, const char* op) { return std::ranges::count(ops, op); }

}  // namespace

TEST(OverlapDispatch, other_work_is_beside_what_goes_to_experts_and_back) {
  Graph g = passed(small_mixture(), make_mesh({.dp = 4, .ep = 4}));
  EXPECT_TRUE(between(g).empty());
  const size_t nodes = g.nodes.size();
  run_passes(g, {{"overlap-dispatch", overlap_dispatch}});
  auto at = between(g);
  const auto& router = at["forward all_gather tokens"];
  EXPECT_EQ(count_of(router, "einsum"), 1);
  EXPECT_EQ(count_of(router, "route"), 1);
  EXPECT_EQ(count_of(at["forward all_gather weights"], "expert_rows"), 1);
  EXPECT_FALSE(at.count("forward reduce_scatter tokens"));
  const auto& cotangents = at["backward all_gather tokens"];  // of the attention of layer 1
  EXPECT_GE(count_of(cotangents, "gradient by einsum"), 1);
  EXPECT_EQ(count_of(cotangents, "gather_rows"), 0);
  // Something small is between the sum and the experts' weight gradients.
  const auto& sum = at["backward reduce_scatter tokens"];
  ASSERT_GE(sum.size(), 2u);
  EXPECT_EQ(sum[0], "gather_weights_grad");
  EXPECT_EQ(count_of(sum, "gradient by grouped_product"), 2);
  EXPECT_EQ(sum.back(), "route_grad");
  // The tokens are there for the first product's: all else of the experts' backward is beside their gather.
  const auto& again = at["backward all_gather tokens again"];
  EXPECT_GE(count_of(again, "gradient by einsum"), 1);
  EXPECT_EQ(count_of(again, "grouped_product"), 2);
  EXPECT_EQ(count_of(again, "gradient by grouped_product"), 1);
  i64 waits = 0;
  for (const Node& n : g.nodes) waits += n.op.get_if<Wait>() != nullptr;
  EXPECT_EQ(waits, 6 * llama().num_layers);
  EXPECT_EQ(g.nodes.size(), nodes + size_t(waits));
}

TEST(OverlapDispatch, what_needs_no_transfer_stays) {
  Graph one_rank = passed(small_mixture(), make_mesh({})), dense = passed(llama(), make_mesh({.dp = 4}));
  EXPECT_FALSE(overlap_dispatch(one_rank));
  EXPECT_FALSE(overlap_dispatch(dense));
}

// Of gathers one after the other the last is begun, and of sums the first.
TEST(OverlapDispatch, transfers_one_after_the_other_are_not_begun_together) {
  for (const Mesh& mesh :
       {make_mesh({.tp_kv = 2, .ep = 2, .etp = 1}), make_mesh({.dp = 2, .tp_kv = 2, .ep = 4, .etp = 1})}) {
    Graph g = passed(small_mixture(), mesh, {.sequence_parallel = true});
    run_passes(g, {{"overlap-dispatch", overlap_dispatch}});
    std::set<Value> open;
    i64 begun = 0;
    for (const Node& n : g.nodes) {
      for (const Value v : n.ins) EXPECT_TRUE(!open.count(v) || n.op.get_if<Wait>()) << print(g, n);
      if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
      if (n.op.lane()) open.insert(n.outs[0]), ++begun;
    }
    EXPECT_GE(begun, 5 * llama().num_layers);
  }
}

TEST(OverlapDispatch, a_simulated_gpu_waits_less) {
  ModelConfig model = small_mixture();
  model.hidden_size = 2048, model.num_attention_heads = 16, model.num_query_groups = 16, model.kv_channels = 128;
  model.seq_length = model.max_position_embeddings = 1024;
  model.moe.num_experts = 16, model.moe.ffn_hidden_size = 1408;
  const Mesh mesh = make_mesh({.dp = 4, .ep = 4});
  const auto exposed = [&](bool beside) {
    Graph g = passed(model, mesh, {}, DType::bf16);
    if (beside) overlap_dispatch(g);
    const Plan plan = plan_memory(mesh, {{"step", &g, {Phase::forward, Phase::backward}}},
                                  [](const Graph&, const Node&) { return i64{0}; });
    const sim::Estimate e = sim::simulate(plan, plan.programs[0], sim::h200());
    return e.by_op.at("relayout").seconds + (beside ? e.by_op.at("wait").seconds : 0);
  };
  EXPECT_LT(exposed(true), 0.6 * exposed(false));
}

}  // namespace megalith
