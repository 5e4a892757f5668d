// The losses of a router, and balancing without a loss, in full models on one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "ops/einsum.h"
#include "ops/expert_counts.h"
#include "ops/sum.h"
#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

TrainingSpec one_rank_mixture(const std::vector<std::string>& kinds, const std::vector<double>& coefficients,
                              double z = 0) {
  TrainingSpec s{.model = mixture(), .mesh = make_mesh({}), .micro_batches = 2};
  s.model.padded_vocab_size = s.model.vocab_size;
  s.model.moe.router_load_balancing_type = kinds, s.model.moe.aux_loss_coeff = coefficients;
  if (z != 0) s.model.moe.z_loss_coeff = z;
  return s;
}

const std::vector<std::string> kKinds = {"aux_loss", "seq_aux_loss", "global_aux_loss"};

std::vector<TrainingSpec> losses() {
  std::vector<TrainingSpec> out = {one_rank_mixture(kKinds, {0.5, 0.3, 0.2}, 0.1)};
  for (const RouterScore score : {RouterScore::sigmoid, RouterScore::sqrtsoftplus}) {
    out.push_back(one_rank_mixture(kKinds, {0.5, 0.3, 0.2}, 0.1));
    MoeConfig& m = out.back().model.moe;
    m.router_score_function = score, m.router_enable_expert_bias = true, m.router_topk_scaling_factor = 2.5;
    m.router_num_groups = 4, m.router_group_topk = 2, m.router_topk = 4, m.input_jitter_eps = 0.1;
  }
  return out;
}

// What a step's gradient is of: the mean loss, and for each layer the others' means times their coefficients.
double objective(Training& t, const TrainingSpec& spec, const Tensors& at) {
  double out = t.loss(at);
  const std::vector<double> terms = t.terms();
  const MoeConfig& m = spec.model.moe;
  for (size_t i = 0; i < terms.size(); ++i)
    out += terms[i] * double(spec.model.num_layers) * (i < 3 ? m.aux_loss_coeff[i] : *m.z_loss_coeff);
  return out;
}

}  // namespace

TEST(Router, gradients_agree_with_differences_of_loss_and_terms) {
  for (const TrainingSpec& spec : losses()) {
    const Batch batch = make_batch(spec.model, false);
    Training t(spec, batch);
    const Tensors at = initial_values(t.parameters());
    const StepResult step = t.step(at);
    ASSERT_EQ(step.terms.size(), 4u);
    Tensors u;
    double have = 0;
    for (const auto& [p, x] : at) {
      u[p] = random_tensor(x.shape, 9);
      for (size_t i = 0; i < x.v.size(); ++i) have += step.gradients.at(p).v[i] * u.at(p).v[i];
    }
    const double h = 1e-6;
    const auto loss = [&](double k) {
      Tensors moved = at;
      for (auto& [name, x] : moved)
        for (size_t i = 0; i < x.v.size(); ++i) x.v[i] += k * h * u.at(name).v[i];
      return objective(t, spec, moved);
    };
    const double slope = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * h);
    EXPECT_NEAR(have, slope, 1e-7 * std::max(1.0, std::abs(slope)));
    EXPECT_GT(std::abs(slope), 1e-3);
  }
}

// Each token has topk experts; a loss is the mean of its layers'.
TEST(Router, tallies_add_up) {
  for (TrainingSpec spec : losses()) {
    spec.tally = true;
    const Batch batch = make_batch(spec.model, false);
    Training t(spec, batch);
    const StepResult r = t.step(initial_values(t.parameters()));
    const char* const kNames[] = {"load_balancing_loss", "seq_load_balancing_loss", "global_load_balancing_loss",
                                  "z_loss"};
    for (i64 layer = 0; layer < spec.model.num_layers; ++layer) {
      const Tensor& tokens = r.tallies.at(fmt::format("tokens_layer_{}", layer));
      EXPECT_EQ(std::accumulate(tokens.v.begin(), tokens.v.end(), 0.0),
                double(spec.samples * spec.model.seq_length * spec.model.moe.router_topk));
    }
    for (size_t i = 0; i < 4; ++i) {
      double sum = 0;
      for (i64 layer = 0; layer < spec.model.num_layers; ++layer)
        sum += r.tallies.at(fmt::format("{}_layer_{}", kNames[i], layer)).v[0];
      EXPECT_NEAR(sum / double(spec.model.num_layers * spec.micro_batches), r.terms[i], 1e-13) << kNames[i];
    }
  }
}

// Where all scores are equal, so are their sums: each loss is 1 whatever is chosen, and z-loss (log 8)^2.
TEST(Router, losses_of_equal_scores_are_one) {
  for (const TrainingSpec& spec : losses()) {
    const Batch batch = make_batch(spec.model, false);
    Training t(spec, batch);
    Tensors at = initial_values(t.parameters());
    for (auto& [name, x] : at)
      if (name.ends_with("router.weight")) std::fill(x.v.begin(), x.v.end(), 0.0);
    t.loss(at);
    const std::vector<double> terms = t.terms();
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(terms[i], 1, 1e-12) << i;
    EXPECT_NEAR(terms[3], std::log(8) * std::log(8), 1e-12);
  }
}

TEST(Router, permuted_experts_have_permuted_gradients) {
  const TrainingSpec spec = one_rank_mixture(kKinds, {0.5, 0.3, 0.2}, 0.1);
  const Batch batch = make_batch(spec.model, false);
  Training t(spec, batch);
  const auto permuted = [](const Tensors& from) {  // expert i becomes expert 3 i + 1 mod 8
    Tensors out = from;
    for (auto& [name, x] : out) {
      if (name.find("router.weight") == std::string::npos && name.find("experts.linear") == std::string::npos) continue;
      const i64 n = count(x.shape) / 8;
      for (i64 i = 0; i < 8; ++i) std::copy_n(from.at(name).v.begin() + i * n, n, x.v.begin() + (3 * i + 1) % 8 * n);
    }
    return out;
  };
  const Tensors at = initial_values(t.parameters());
  const StepResult a = t.step(at), b = t.step(permuted(at));
  EXPECT_NEAR(a.loss, b.loss, 1e-13);
  for (size_t i = 0; i < a.terms.size(); ++i) EXPECT_NEAR(a.terms[i], b.terms[i], 1e-13);
  const Tensors want = permuted(a.gradients);
  for (const auto& [name, g] : b.gradients) EXPECT_LE(max_difference(g, want.at(name)), 1e-13) << name;
}

// The bias moves by its rate, down where an expert has more than the mean; no gradient reaches it.
TEST(Router, a_step_moves_the_bias_by_its_rate) {
  TrainingSpec spec = losses()[1];
  spec.model.moe.router_bias_update_rate = 0.25;
  const Batch batch = make_batch(spec.model, false);
  Training t(spec, batch);
  const StepResult r = t.step(initial_values(t.parameters()));
  int found = 0;
  for (const auto& [name, x] : r.after) {
    if (!name.ends_with("router.expert_bias")) continue;
    const Tensor before = untrained_values(name, x.shape);
    double up = 0, down = 0;
    for (size_t i = 0; i < x.v.size(); ++i) {
      const double moved = x.v[i] - before.v[i];
      EXPECT_TRUE(std::abs(moved) < 1e-6 || std::abs(std::abs(moved) - 0.25) < 1e-6) << moved;
      (moved > 0 ? up : down) += std::abs(moved);
    }
    EXPECT_GT(up, 0.2) << name;
    EXPECT_GT(down, 0.2) << name;
    ++found;
    EXPECT_EQ(r.gradients.count(name), 0u);
  }
  EXPECT_EQ(found, 2);
}

// A rank's count of its tokens is not the weight of its sums: both are summed over ranks.
TEST(Router, counts_that_are_not_summed_are_refused) {
  for (const Mesh& mesh : {make_mesh({}), make_mesh({1, 2, 1, 1})}) {
    Graph g;
    g.mesh = mesh;
    Builder b(g);
    Layout split = whole(3);
    split.dims[0] = {{groups::context}};
    const Value q = b.leaf({"q", {DType::f32, {4, 2, 8}, split}, Role::input, true});
    const Value m = b.leaf({"m", {DType::f32, {4, 2, 8}, split}, Role::input});
    const Value scores = b.add1(Sum{"sbe->be"}, {q}), counts = b.add1(Sum{"sbe->be"}, {m});
    EXPECT_THROW(einsum(b, "be,be->", scores, counts), Error);
    EXPECT_THROW(b.add1(CountShares{}, {b.add1(Sum{"be->e"}, {counts})}), Error);
    EXPECT_NO_THROW(einsum(b, "be,be->", scores, b.relayout(counts, groups::context, kCopy)));
  }
}

}  // namespace megalith::harness
