// Graphs of small models for tests of offloaded activations.
#pragma once
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/offload_activations.h"
#include "passes/recompute.h"
#include "plan/plan.h"
#include "small_models.h"

namespace megalith {

constexpr i64 kTokens = 8 * 2, kHidden = 16, kHeads = 4, kFfn = 32;  // sizes of small_models.h, with batch 2

inline Graph trained(ModelConfig config, i64 layers, const RecomputeConfig& recompute = {}) {
  config.num_layers = layers;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode;
  mode.batch = 2, mode.precision = computing_in(DType::bf16);
  const Built gpt = Gpt(config, ParallelStyle{.pack_qkv = true}).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  run_passes(g, standard_passes(), {"multi-tensor"});  // it keeps small gradients, which are not small here
  run_passes(g, {recompute_pass(recompute)});
  return g;
}

inline OffloadSpec of(std::vector<std::string> modules) {
  return {.config = {.on = true, .modules = std::move(modules), .min_tensor_size = kTokens * kHidden}};
}

// A bus on which one token's hidden state takes as long as `nodes` nodes.
inline BusRates bus(double nodes) {
  BusRates r;
  r.products = r.attention = r.others = r.memory = 1e30, r.launch = 1, r.bus = double(kTokens * kHidden * 2) / nodes;
  return r;
}

inline Plan planned(const Graph& g, std::vector<Phase> phases = {Phase::forward, Phase::backward}) {
  return plan_memory(g.mesh, {{"step", &g, std::move(phases)}}, [](auto&, auto&) { return 0; });
}

template <class Op>
std::vector<int> places(const Graph& g) {
  std::vector<int> out;
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[size_t(i)].op.get_if<Op>()) out.push_back(i);
  return out;
}

inline int wait_for(const Graph& g, int begun) {
  for (int i : places<Wait>(g))
    if (g.nodes[size_t(i)].ins[0] == g.nodes[size_t(begun)].outs[0]) return i;
  return -1;
}

inline int first_backward(const Graph& g, Value v) {
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[size_t(i)].phase == Phase::backward && std::ranges::count(g.nodes[size_t(i)].ins, v)) return i;
  return -1;
}

inline i64 total(const OffloadReport& r) {
  i64 sum = 0;
  for (const auto& [module, bytes] : r.bytes) sum += bytes;
  return sum;
}

}  // namespace megalith
