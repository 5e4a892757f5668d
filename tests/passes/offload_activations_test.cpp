// Activations in the host's memory: what goes, where its transfers stand, and what the device's memory loses by it.
#include "passes/offload_activations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/recompute.h"
#include "plan/lanes.h"
#include "plan/plan.h"
#include "small_models.h"

namespace megalith {

namespace {

constexpr i64 kTokens = 8 * 2, kHidden = 16, kHeads = 4, kFfn = 32;  // of small_models.h, batch 2

Graph trained(ModelConfig config, i64 layers, const RecomputeConfig& recompute = {}) {
  config.num_layers = layers;
  Graph g;
  g.mesh = make_mesh(1, 1, 1, 1);
  Builder b(g);
  BuildMode mode;
  mode.batch = 2, mode.dtype = DType::bf16;
  const Built gpt = Gpt(config, ParallelStyle{.pack_qkv = true}).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.terms[0].sum, acc.terms[0].weight}, {});
  run_passes(g, standard_passes(), {"multi-tensor"});  // it keeps small gradients, which are not small here
  run_passes(g, {recompute_pass(recompute)});
  return g;
}

OffloadSpec of(std::vector<std::string> modules) {
  return {.config = {.on = true, .modules = std::move(modules), .min_tensor_size = kTokens * kHidden}};
}

// A bus on which a value of a token's hidden state takes `nodes` nodes' time.
BusRates bus(double nodes) {
  BusRates r;
  r.products = r.others = r.memory = 1e30, r.launch = 1, r.bus = double(kTokens * kHidden * 2) / nodes;
  return r;
}

Plan planned(const Graph& g, std::vector<Phase> phases = {Phase::forward, Phase::backward}) {
  return plan_memory(g.mesh, {{"step", &g, std::move(phases)}}, [](auto&, auto&) { return 0; });
}

template <class Op>
std::vector<int> places(const Graph& g) {
  std::vector<int> out;
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[size_t(i)].op.get_if<Op>()) out.push_back(i);
  return out;
}

int wait_for(const Graph& g, int begun) {
  for (int i : places<Wait>(g))
    if (g.nodes[size_t(i)].ins[0] == g.nodes[size_t(begun)].outs[0]) return i;
  return -1;
}

int first_backward(const Graph& g, Value v) {
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[size_t(i)].phase == Phase::backward && std::ranges::count(g.nodes[size_t(i)].ins, v)) return i;
  return -1;
}

i64 total(const OffloadReport& r) {
  i64 sum = 0;
  for (const auto& [module, bytes] : r.bytes) sum += bytes;
  return sum;
}

}  // namespace

TEST(OffloadActivations, modules_keep_what_their_gradients_read) {
  constexpr i64 kRow = kTokens * 2, kLayers = 3;  // bytes of one number a token; the last layer's stay
  const auto each = [&](const ModelConfig& model, const char* module) {
    Graph g = trained(model, kLayers);
    const OffloadReport r = offload_activations(g, of({module}));
    verify(g);
    EXPECT_LE(r.bytes.size(), 1u);
    return total(r) / (kLayers - 1) / kRow;
  };
  for (const ModelConfig& model : {llama(), gpt2()}) {
    const bool gated = model.gated();
    EXPECT_EQ(each(model, "attn_norm"), kHidden);
    EXPECT_EQ(each(model, "mlp_norm"), kHidden);
    EXPECT_EQ(each(model, "core_attn"), 3 * kHidden + kHidden);  // queries, keys, values; its result
    EXPECT_EQ(each(model, "attn_proj"), kHidden);
    EXPECT_EQ(each(model, "mlp_act"), (gated ? 2 : 1) * kFfn);
    for (const char* made_again : {"qkv_linear", "mlp_fc1", "mlp_fc2"}) EXPECT_EQ(each(model, made_again), 0);
  }
}

TEST(OffloadActivations, each_value_is_stored_once_and_fetched_once) {
  for (const ModelConfig& model : {llama(), gpt2()})
    for (const double nodes : {0.01, 1.0, 50.0}) {
      Graph g = trained(model, 4);
      OffloadSpec spec = of({"attn_norm", "core_attn", "attn_proj", "mlp_norm", "mlp_act"});
      spec.rates = bus(nodes);
      offload_activations(g, spec);
      verify(g);
      std::map<Value, int> stored, fetched;  // by leaf
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
      origins_of_waits(planned(g));  // all that is begun ends
    }
}

// Of twelve layers all values of the modules but those of the last layer, and those on their way, leave the arena.
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

// Where the bus is far too slow the device waits, and still no more than some layers' values are on their way.
TEST(OffloadActivations, a_slow_bus_does_not_fill_the_arena) {
  Graph g = trained(llama(), 12);
  const i64 before = planned(g).programs[0].activation_bytes;
  OffloadSpec spec = of({"attn_norm", "core_attn", "mlp_norm", "mlp_act"});
  spec.rates = bus(1e4);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.wait, 0);
  EXPECT_LE(planned(g).programs[0].activation_bytes, before - total(r) * 8 / 11);
}

TEST(OffloadActivations, without_names_what_the_bus_carries_goes) {
  i64 last = -1;
  std::vector<i64> all;
  for (const double nodes : {1e4, 8.0, 4.0, 2.0, 0.001}) {
    Graph g = trained(llama(), 6);
    OffloadSpec spec = of({});
    spec.rates = bus(nodes);
    const OffloadReport r = offload_activations(g, spec);
    verify(g);
    EXPECT_EQ(r.wait, 0) << nodes;
    EXPECT_GE(total(r), last);
    last = total(r), all.push_back(last);
  }
  EXPECT_EQ(all.front(), 0);
  EXPECT_LT(all[1], all.back());
}

// What would take longest to be made again, for each byte, goes first.
TEST(OffloadActivations, the_bus_is_for_what_is_dear) {
  Graph g = trained(llama(), 6);
  OffloadSpec spec = of({});
  spec.rates = bus(4);
  spec.rates.launch = 1e-9, spec.rates.products = 1e3, spec.rates.bus = 300;  // products' time counts
  const OffloadReport r = offload_activations(g, spec);
  ASSERT_FALSE(r.bytes.empty());
  EXPECT_FALSE(r.bytes.contains("mlp_fc1"));
  EXPECT_GT(r.made_again, 0);
  EXPECT_EQ(r.wait, 0);
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
  spec.config.min_tensor_size = 3 * kTokens * kHidden;  // q, k and v are one
  Graph g = trained(llama(), 3);
  EXPECT_EQ(total(offload_activations(g, spec)), 2 * 3 * kTokens * kHidden * 2);
  spec.config.min_tensor_size *= 100;
  Graph same = trained(llama(), 3);
  const std::string before = print(same);
  EXPECT_EQ(total(offload_activations(same, spec)), 0);
  EXPECT_EQ(print(same), before);
}

// Of recomputed layers their inputs are kept, and go: more layers take no more of the arena.
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

// Forward and backward apart, as in a pipeline: each micro-batch in flight has its place on the host, and the device
// keeps nothing of what went.
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
