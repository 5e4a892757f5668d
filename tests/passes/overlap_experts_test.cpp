// Tokens go to experts and back beside the shared expert; and what a simulated GPU gains.
#include <gtest/gtest.h>

#include "mixture_graph.h"

namespace megalith {

namespace {

ModelConfig with_shared(ModelConfig c, i64 width) {
  c.moe.shared_expert_intermediate_size = width, c.moe.aux_loss_coeff = {0.1};
  return c;
}
ModelConfig mixture() { return with_shared(small_mixture(), 20); }

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
    Graph g =
        trained_mixture(mixture(), tensor ? make_mesh({.tp_kv = 2, .ep = 2, .etp = 1}) : make_mesh({.dp = 4, .ep = 4}),
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
  Graph no_shared = trained_mixture(plain, make_mesh({.dp = 4, .ep = 4}));
  Graph one_rank = trained_mixture(mixture(), make_mesh({}));
  EXPECT_FALSE(overlap_experts(no_shared));
  EXPECT_FALSE(overlap_experts(one_rank));
}

TEST(OverlapExperts, a_simulated_gpu_waits_less) {
  const ModelConfig model = with_shared(wide_mixture(), 5632);
  EXPECT_LT(seconds_waited(model, overlap_experts), 0.6 * seconds_waited(model, nullptr));
}

}  // namespace megalith
