// Tests of activations in host memory: the positions of transfers, and the saved device memory.
#include "passes/offload_activations.h"

#include <gtest/gtest.h>

#include <map>

#include "offloaded_graph.h"
#include "plan/lanes.h"

namespace megalith {

TEST(OffloadActivations, each_value_is_stored_once_and_fetched_once) {
  for (const ModelConfig& model : {llama(), gpt2()})
    for (const double nodes : {0.01, 1.0, 50.0}) {
      Graph g = trained(model, 4);
      OffloadSpec spec = of({"attn_norm", "core_attn", "attn_proj", "mlp_norm", "mlp_act"});
      spec.rates = bus(nodes);
      offload_activations(g, spec);
      verify(g);
      std::map<Value, int> stored, fetched;  // indices of transfers, by leaf
      for (int i : places<HostStore>(g)) {
        const Node& n = g.nodes[size_t(i)];
        EXPECT_TRUE(stored.emplace(n.ins[1], wait_for(g, i)).second) << print(g, n);
        EXPECT_EQ(g.info(n.ins[0]).node, i - 1 - (g.nodes[size_t(i) - 1].op.get_if<HostStore>() != nullptr));
        EXPECT_EQ(first_backward(g, n.ins[0]), -1) << "the backward reads what was to leave: " << print(g, n);
        EXPECT_TRUE(g.info(n.ins[1]).host);
      }
      for (int i : places<HostFetch>(g)) {
        const Node& n = g.nodes[size_t(i)];
        EXPECT_TRUE(fetched.emplace(n.ins[0], i).second) << print(g, n);
        const int wait = wait_for(g, i);
        ASSERT_GT(wait, i);
        EXPECT_GE(first_backward(g, g.nodes[size_t(wait)].outs[0]), wait);
      }
      ASSERT_EQ(stored.size(), fetched.size());
      EXPECT_EQ(stored.size(), 3 * 5u);
      for (const auto& [leaf, wait] : stored) EXPECT_LT(wait, fetched.at(leaf));
      origins_of_waits(planned(g));  // the wait of every started transfer exists
    }
}

// The model has twelve layers. All values of the modules leave the arena, except those of the last layer and those in
// transfer.
TEST(OffloadActivations, the_arena_loses_what_goes) {
  const std::vector<std::vector<std::string>> choices = {
      {"attn_norm", "core_attn", "mlp_norm"}, {"core_attn"}, {"attn_norm", "core_attn", "mlp_norm", "mlp_act"}};
  for (const std::vector<std::string>& modules : choices) {
    constexpr i64 kLayers = 12;
    Graph g = trained(llama(), kLayers);
    const i64 before = planned(g).programs[0].activation_bytes;
    OffloadSpec spec = of(modules);
    spec.rates = bus(0.5);
    const i64 gone = total(offload_activations(g, spec));
    const Plan plan = planned(g);
    EXPECT_EQ(plan.host_bytes, gone) << "all sizes are multiples of the alignment";
    EXPECT_LE(plan.programs[0].activation_bytes, before - gone * (kLayers - 3) / (kLayers - 1));
  }
}

TEST(OffloadActivations, a_fraction_takes_the_first_layers) {
  OffloadSpec spec = of({"core_attn"});
  Graph whole = trained(llama(), 9), half = whole;
  const i64 all = total(offload_activations(whole, spec));
  spec.config.fraction = 0.5;
  EXPECT_EQ(total(offload_activations(half, spec)), all / 2);
  for (int i : places<HostStore>(half)) EXPECT_LT(half.nodes[size_t(i)].origin.layer, 4);
}

TEST(OffloadActivations, small_tensors_stay) {
  OffloadSpec spec = of({"core_attn"});
  spec.config.min_tensor_size = 3 * kTokens * kHidden;  // q, k and v are one value
  Graph g = trained(llama(), 3);
  EXPECT_EQ(total(offload_activations(g, spec)), 2 * 3 * kTokens * kHidden * 2);
  spec.config.min_tensor_size *= 100;
  Graph same = trained(llama(), 3);
  const std::string before = print(same);
  EXPECT_EQ(total(offload_activations(same, spec)), 0);
  EXPECT_EQ(print(same), before);
}

// With recomputation the layers' inputs are kept and offloaded. More layers then need no larger arena.
TEST(OffloadActivations, beside_recomputation) {
  const RecomputeConfig full{RecomputeConfig::Granularity::full, RecomputeConfig::Method::uniform, 1, {}};
  constexpr i64 kInput = kTokens * kHidden * 2;
  const auto arenas = [&](i64 layers) {
    Graph g = trained(llama(), layers, full);
    const i64 before = planned(g).programs[0].activation_bytes;
    OffloadSpec spec = of({"attn_norm", "core_attn"});
    spec.rates = bus(0.5);
    EXPECT_EQ(total(offload_activations(g, spec)), (layers - 1) * kInput);
    verify(g);
    return std::pair(before, planned(g).programs[0].activation_bytes);
  };
  const auto [before, after] = arenas(32);
  const auto [fewer_before, fewer_after] = arenas(16);
  EXPECT_EQ(before - fewer_before, 16 * kInput);
  EXPECT_EQ(after, fewer_after);
  EXPECT_LT(after, before - 16 * kInput);
}

// Forward and backward are separate programs, as in a pipeline. Each micro-batch in flight has its own host memory. The
// device keeps no offloaded value.
TEST(OffloadActivations, programs_apart_keep_slots_on_the_host) {
  Graph g = trained(llama(), 3);
  OffloadSpec spec = of({"core_attn", "mlp_act"});
  spec.apart = true;
  const auto plan = [&] {
    return plan_memory(g.mesh, {{"forward", &g, {Phase::forward}, 4}, {"backward", &g, {Phase::backward}, 4}},
                       [](auto&, auto&) { return 0; });
  };
  const i64 before = plan().bytes(Role::kept);
  const i64 gone = total(offload_activations(g, spec));
  const Plan after = plan();
  EXPECT_EQ(gone, 3 * (4 * kHidden + 2 * kFfn) * kTokens * 2);
  EXPECT_EQ(after.bytes(Role::kept, true), 4 * gone);
  EXPECT_EQ(after.bytes(Role::kept), before - 4 * gone);
  origins_of_waits(after);
}

}  // namespace megalith
