// Tests that the shared expert overlaps the transfers of tokens to experts and back. Measures the gain on a simulated
// GPU.
#include <gtest/gtest.h>

#include "mixture_graph.h"

namespace megalith {

namespace {

ModelConfig with_shared(ModelConfig c, i64 width) {
  c.moe.shared_expert_intermediate_size = width, c.moe.aux_loss_coeff = {0.1};
  return c;
}
ModelConfig mixture() { return with_shared(small_mixture(), 20); }

// For each expert-parallel transfer in layer 1, such as "forward all_gather": the shared expert's ops between its start
// and its wait. Weight gradients belong to no module, so all of them are included.
std::map<std::string, std::vector<std::string>> beside(const Graph& g) {
  std::map<std::string, std::vector<std::string>> out;
  std::map<Value, std::string> open;
  for (const Node& n : g.nodes) {
    if (const auto* r = n.op.get_if<Relayout>(); r && r->lane && n.origin.layer == 1)
      open[n.outs[0]] = fmt::format("{} {}", name_of(n.phase), name_of(r->transfer));
    if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
    const auto* product = n.op.get_if<Einsum>();
    const bool adds = product && product->accumulate;  // adds to the gradient of a weight
    if (!adds && (n.origin.module != "shared_experts" || n.origin.layer != 1)) continue;
    for (const auto& [v, name] : open) out[name].push_back(adds ? "weight gradient" : std::string(n.op.name()));
  }
  return out;
}

bool has(const std::vector<std::string>& ops, const char* op) { return std::ranges::count(ops, op) > 0; }

}  // namespace

// With tensor parallelism the last product of the shared expert adds nothing. So it can overlap the sum.
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
    // The weight gradient here is that of the second product. That of the first product needs recomputed tokens, and
    // overlaps their gather.
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
