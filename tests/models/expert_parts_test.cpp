// Rows of experts in a buffer of fewer than there can be: training steps against those with room for the worst case.
#include <gtest/gtest.h>

#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

TrainingSpec mixture_on(const Mesh& mesh, bool sequence_parallel = false) {
  TrainingSpec s{.model = mixture(), .mesh = mesh, .micro_batches = 2};
  s.style = {.sequence_parallel = sequence_parallel, .cp_order = Order::block};
  s.model.moe.shared_expert_intermediate_size = 20, s.model.moe.z_loss_coeff = 0.1;
  s.model.moe.aux_loss_coeff = {0.1};
  return s;
}

StepResult step_in_parts(const TrainingSpec& spec) {
  const Batch batch = make_batch(spec.model, spec.documents);
  Training training(spec, batch);
  return training.step(initial_values(training.parameters()));
}

bool of_experts(const std::string& name) { return name.find(".experts.") != std::string::npos; }

// How far experts' gradients are from those of the worst case, of their largest element; all else is the same to the
// bit.
double difference(const TrainingSpec& spec) {
  TrainingSpec room = spec;
  room.style.expert_rows.reset();
  const StepResult got = step_in_parts(spec), want = step_in_parts(room);
  EXPECT_EQ(got.loss, want.loss);
  EXPECT_EQ(got.terms, want.terms);
  double most = 0;
  for (const auto& [name, g] : want.gradients) {
    const double d = max_difference(g, got.gradients.at(name));
    if (of_experts(name))
      most = std::max(most, d / max_difference(g, filled(g.shape, 0)));
    else
      EXPECT_EQ(d, 0) << name;
  }
  return most;
}

i64 arena(const TrainingSpec& spec) {
  TrainingGraph t = build_training(spec);
  return plan_training(spec, t).arena_bytes;
}

constexpr double kSums = 128 * 2.2e-16;  // sums of as many terms as there are tokens, in f64

std::vector<TrainingSpec> layouts() {
  return {mixture_on(make_mesh({})), mixture_on(make_mesh({.dp = 4, .ep = 4})),
          mixture_on(make_mesh({.dp = 4, .ep = 2})),
          mixture_on(make_mesh({.dp = 2, .tp_kv = 2, .ep = 2, .etp = 2}), true)};
}

}  // namespace

// Forward, and every gradient that passes through the experts, is the same to the bit; experts' own are other sums.
TEST(ExpertParts, GiveWhatTheWorstCaseGives) {
  for (TrainingSpec s : layouts())
    for (const double factor : {0.1, 0.5, 1.0}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} of the rows", s.mesh.num_ranks(), factor));
      s.style.expert_rows = factor;
      EXPECT_LT(difference(s), kSums);
    }
}

// One part has them all: sums have the same terms too.
TEST(ExpertParts, WhereAllRowsFitNothingDiffers) {
  for (TrainingSpec s : layouts()) {
    s.model.moe.router_topk = 1, s.model.moe.router_score_function = RouterScore::sigmoid;
    const double ep = s.mesh.n(groups::expert);
    s.style.expert_rows = ep * 0.999;  // all but a few of what there can be
    EXPECT_EQ(difference(s), 0);
  }
}

// All tokens choose the same expert: one rank has them all.
TEST(ExpertParts, AllTokensToOneExpert) {
  for (TrainingSpec s : layouts()) {
    s.model.moe.router_topk = 1, s.model.moe.router_score_function = RouterScore::sigmoid;
    s.model.moe.router_force_biased = 1e3, s.style.expert_rows = 1;
    EXPECT_LT(difference(s), kSums);
  }
}

TEST(ExpertParts, GiveTheSameBitsTwice) {
  for (TrainingSpec s : layouts()) {
    s.style.expert_rows = 0.4;
    const StepResult a = step_in_parts(s), b = step_in_parts(s);
    for (const auto& [name, w] : a.after) EXPECT_EQ(max_difference(w, b.after.at(name)), 0) << name;
  }
}

TEST(ExpertParts, GiveTheSameBitsRecomputed) {
  for (TrainingSpec s : layouts()) {
    s.style.expert_rows = 0.4;
    const StepResult want = step_in_parts(s);
    for (const auto& modules : std::vector<std::vector<std::string>>{{"moe"}, {"moe_act"}, {"moe", "layernorm"}}) {
      s.recompute = {RecomputeConfig::Granularity::selective, RecomputeConfig::Method::none, 0, modules};
      const StepResult got = step_in_parts(s);
      for (const auto& [name, w] : want.after) EXPECT_EQ(max_difference(w, got.after.at(name)), 0) << name;
    }
    s.recompute = {RecomputeConfig::Granularity::full, RecomputeConfig::Method::uniform, 1, {}};
    const StepResult got = step_in_parts(s);
    for (const auto& [name, w] : want.after) EXPECT_EQ(max_difference(w, got.after.at(name)), 0) << name;
  }
}

// No part's rows are kept: more layers take what they have besides rows, whatever the rows are.
TEST(ExpertParts, KeepNoRows) {
  TrainingSpec s = mixture_on(make_mesh({.dp = 4, .ep = 4}));
  s.model.moe.ffn_hidden_size = 512, s.model.moe.shared_expert_intermediate_size = 0;
  const auto of_layer = [&](i64 width) {
    s.model.moe.ffn_hidden_size = width;
    const auto bytes = [&](i64 layers) {
      s.model.num_layers = layers;
      i64 weights = 0;
      TrainingGraph t = build_training(s);
      for (const ValueInfo& v : t.g.values)
        if (v.node < 0) weights += local_type(s.mesh, v.type).bytes();
      return plan_training(s, t).arena_bytes - weights;
    };
    return bytes(6) - bytes(3);
  };
  s.style.expert_rows = 1;
  EXPECT_NEAR(double(of_layer(512)), double(of_layer(256)), 4096);  // places are rounded
  s.style.expert_rows.reset();
  EXPECT_GT(of_layer(512), 3 * 256 * 1024);
}

// The buffers of rows are most of what this step takes. A part's maximum is u, the activation's output or its gradient,
// and three rows of the stream's width.
TEST(ExpertParts, TakeLessMemory) {
  TrainingSpec s = mixture_on(make_mesh({.dp = 4, .ep = 4}));
  s.model.num_layers = 1, s.model.moe.ffn_hidden_size = 64, s.samples = 32, s.micro_batches = 1;
  const i64 balanced = s.model.seq_length * s.samples * 2 / 4, f = s.model.moe.ffn_hidden_size, h = s.model.hidden_size;
  const i64 inside = 4 * balanced * 3 * f * i64(sizeof(double)), worst = arena(s);
  s.style.expert_rows = 2;
  const i64 twice = arena(s);
  s.style.expert_rows = 1;
  const i64 once = arena(s);
  EXPECT_LT(twice, worst - inside / 3);
  EXPECT_LT(once, worst - inside * 2 / 3);
  EXPECT_LT(twice - once, balanced * (3 * f + 3 * h + 4) * i64(sizeof(double)));
}

}  // namespace megalith::harness
