// Tests that independent work overlaps the transfers of tokens to experts and back. Measures the gain on a simulated
// GPU.
#include <gtest/gtest.h>

#include "mixture_graph.h"

namespace megalith {

namespace {

bool adds(const Node& n) {
  return std::ranges::any_of(n.op.aliases(), [](const Alias& a) { return a.must; });
}

// For each transfer of layer 0, such as "forward all_gather bf16": the ops between its start and its wait.
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
  Graph g = trained_mixture(small_mixture(), make_mesh({.dp = 4, .ep = 4}));
  EXPECT_TRUE(between(g).empty());
  const size_t nodes = g.nodes.size();
  run_passes(g, {{"overlap-dispatch", overlap_dispatch}});
  auto at = between(g);
  const auto& router = at["forward all_gather tokens"];
  EXPECT_EQ(count_of(router, "einsum"), 1);
  EXPECT_EQ(count_of(router, "route"), 1);
  EXPECT_EQ(count_of(at["forward all_gather weights"], "expert_rows"), 1);
  EXPECT_FALSE(at.count("forward reduce_scatter tokens"));
  // The overlapping ops are those of layer 1's attention, and the gradient of its experts' first product.
  const auto& cotangents = at["backward all_gather tokens"];
  EXPECT_GE(count_of(cotangents, "gradient by einsum"), 1);
  EXPECT_EQ(count_of(cotangents, "gather_rows"), 1);
  EXPECT_EQ(count_of(cotangents, "gradient by grouped_product"), 1);
  // A weight gradient runs before the nodes that wait for the sum. No work follows layer 0, so both weight gradients
  // overlap its last sum.
  const std::string weights = "gradient by grouped_product";
  EXPECT_EQ(at["backward reduce_scatter weights"], (std::vector<std::string>{"combine_rows", weights}));
  const auto& sum = at["backward reduce_scatter tokens"];
  ASSERT_GE(sum.size(), 2u);
  EXPECT_EQ(sum[0], weights);
  EXPECT_EQ(sum[1], "route_grad");
  EXPECT_EQ(count_of(sum, weights.c_str()), 2);
  // The first product needs the tokens. All other work of the experts' backward overlaps their gather.
  const auto& again = at["backward all_gather tokens again"];
  EXPECT_GE(count_of(again, "gradient by einsum"), 1);
  EXPECT_EQ(count_of(again, "grouped_product"), 2);
  EXPECT_EQ(count_of(again, "gradient by grouped_product"), 2);
  i64 waits = 0;
  for (const Node& n : g.nodes) waits += n.op.get_if<Wait>() != nullptr;
  EXPECT_EQ(waits, 6 * llama().num_layers);
  EXPECT_EQ(g.nodes.size(), nodes + size_t(waits));
}

TEST(OverlapDispatch, what_needs_no_transfer_stays) {
  Graph one_rank = trained_mixture(small_mixture(), make_mesh({}));
  Graph dense = trained_mixture(llama(), make_mesh({.dp = 4}));
  EXPECT_FALSE(overlap_dispatch(one_rank));
  EXPECT_FALSE(overlap_dispatch(dense));
}

// Of consecutive gathers the last one is started early. Of consecutive sums the first one is.
TEST(OverlapDispatch, transfers_one_after_the_other_are_not_begun_together) {
  for (const Mesh& mesh :
       {make_mesh({.tp_kv = 2, .ep = 2, .etp = 1}), make_mesh({.dp = 2, .tp_kv = 2, .ep = 4, .etp = 1})}) {
    Graph g = trained_mixture(small_mixture(), mesh, {.sequence_parallel = true});
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

// The experts need the router's choice at their start, and the work of the router's loss is short.
TEST(OverlapDispatch, the_choice_is_not_gathered_behind_the_tokens) {
  ModelConfig model = small_mixture();
  model.moe.aux_loss_coeff = {0.1};
  Graph g = trained_mixture(model, make_mesh({.dp = 4, .ep = 4}));
  overlap_dispatch(g);
  for (const Node& n : g.nodes)
    if (n.op.get_if<ExpertRows>()) {
      const auto* r = g.nodes[size_t(g.info(n.ins[0]).node)].op.get_if<Relayout>();
      ASSERT_TRUE(r);
      EXPECT_EQ(r->lane, 0);
    }
}

TEST(OverlapDispatch, a_simulated_gpu_waits_less) {
  EXPECT_LT(seconds_waited(wide_mixture(), overlap_dispatch), 0.6 * seconds_waited(wide_mixture(), nullptr));
}

}  // namespace megalith
