// Builds the training step graph of a small mixture of experts, and measures waits on a simulated GPU.
#pragma once
#include "exec/sim/simulator.h"
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "small_models.h"

namespace megalith {

inline ModelConfig small_mixture() {
  ModelConfig c = llama();
  c.moe.num_experts = 4, c.moe.ffn_hidden_size = 12;
  return c;
}
// A model that is large enough that transfers take long.
inline ModelConfig wide_mixture() {
  ModelConfig c = small_mixture();
  c.hidden_size = 2048, c.num_attention_heads = c.num_query_groups = 16, c.kv_channels = 128;
  c.seq_length = c.max_position_embeddings = 1024;
  c.moe.num_experts = 16, c.moe.ffn_hidden_size = 1408;
  return c;
}

inline Graph trained_mixture(const ModelConfig& model, const Mesh& mesh, const ParallelStyle& style = {},
                             DType dtype = DType::f32) {
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

// Seconds that a simulated GPU waits for transfers in a training step, in bf16 with four expert-parallel ranks.
inline double seconds_waited(const ModelConfig& model, bool (*pass)(Graph&)) {
  const Mesh mesh = make_mesh({.dp = 4, .ep = 4});
  Graph g = trained_mixture(model, mesh, {}, DType::bf16);
  if (pass) pass(g);
  const Plan plan = plan_memory(mesh, {{"step", &g, {Phase::forward, Phase::backward}}},
                                [](const Graph&, const Node&) { return i64{0}; });
  const sim::Estimate e = sim::simulate(plan, plan.programs[0], sim::h200());
  return e.by_op.at("relayout").seconds + (pass ? e.by_op.at("wait").seconds : 0);
}

}  // namespace megalith
