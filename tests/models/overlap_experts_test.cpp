// Training steps whose transfers to experts overlap the shared expert, or all independent work, and without: the same
// bits.
#include <gtest/gtest.h>

#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

StepResult step_beside(const TrainingSpec& spec, const Batch& batch) {
  Training training(spec, batch);
  return training.step(initial_values(training.parameters()));
}

}  // namespace

TEST(OverlapExperts, gives_the_same_bits) {
  for (const Mesh& mesh : {make_mesh({.dp = 4, .ep = 4}), make_mesh({.dp = 2, .tp_kv = 2, .ep = 2, .etp = 2}),
                           make_mesh({.dp = 2, .tp_kv = 2, .ep = 4, .etp = 1})})
    for (const bool gate : {false, true})
      for (const std::optional<double> rows : {std::optional<double>(), std::optional(0.5)})
        for (const char* again : {"", "moe", "shared_experts"}) {
          TrainingSpec s{.model = mixture(), .mesh = mesh, .micro_batches = 2};
          s.style = {.sequence_parallel = true, .cp_order = Order::block};
          s.style.expert_rows = rows;
          s.model.moe.shared_expert_intermediate_size = 20, s.model.moe.shared_expert_gate = gate;
          s.model.moe.aux_loss_coeff = {0.1}, s.model.moe.latent_size = gate ? 6 : 0;
          if (*again)
            s.recompute = {RecomputeConfig::Granularity::selective, RecomputeConfig::Method::none, 0, {again}};
          const Batch batch = make_batch(s.model, s.documents);
          const StepResult want = step_beside(s, batch);
          for (const bool shared : {true, false}) {
            s.overlap_experts = shared, s.overlap_dispatch = true;
            const StepResult got = step_beside(s, batch);
            EXPECT_EQ(got.loss, want.loss);
            for (const auto& [name, w] : want.after) EXPECT_EQ(max_difference(w, got.after.at(name)), 0) << name;
          }
        }
}

}  // namespace megalith::harness
