// Multi-token prediction: the host's shifts, a step's counts, and values that the modules do not change.
#include <gtest/gtest.h>

#include "models/gpt/mtp.h"
#include "models/gpt/shifted.h"
#include "step/step_batches.h"
#include "tests/models/settings.h"

namespace megalith::harness {
namespace {

megalith::Batch two_rows() {
  megalith::Batch b;
  b.sequences = 2, b.seq_length = 4;
  b.ints("tokens") = {1, 2, 3, 4, 5, 6, 7, 8};
  b.floats("loss_mask") = {1, 1, 0, 1, 1, 1, 1, 1};
  return b;
}

ModelConfig predicting(i64 depths) {
  ModelConfig c = llama_like();
  c.mtp = {.num_layers = depths, .loss_scaling_factor = 0.7};
  return c;
}

StepResult step_of(const ModelConfig& model) {
  const TrainingSpec spec{.model = model, .mesh = make_mesh({})};
  const Batch batch = make_batch(model, false);
  Training t(spec, batch);
  return t.step(initial_values(t.parameters()));
}

double most(const Tensor& t) {
  double out = 0;
  for (const double x : t.v) out = std::max(out, std::abs(x));
  return out;
}

}  // namespace

TEST(MultiTokenPrediction, shifts_within_a_sequence) {
  const megalith::Batch b = two_rows();
  EXPECT_EQ(std::get<std::vector<i32>>(shifted(b, "tokens", 1)), (std::vector<i32>{2, 3, 4, 0, 6, 7, 8, 0}));
  EXPECT_EQ(std::get<std::vector<i32>>(shifted(b, "tokens", 3)), (std::vector<i32>{4, 0, 0, 0, 8, 0, 0, 0}));
  EXPECT_EQ(std::get<std::vector<float>>(shifted(b, "loss_mask", 1)), (std::vector<float>{1, 0, 1, 0, 1, 1, 1, 0}));
}

TEST(MultiTokenPrediction, shifts_within_a_document) {
  megalith::Batch b = two_rows();
  b.ints("document_starts") = {0, 0, 2, 2, 0, 0, 0, 3};
  EXPECT_EQ(std::get<std::vector<i32>>(shifted(b, "tokens", 1)), (std::vector<i32>{2, 0, 4, 0, 6, 7, 0, 0}));
  EXPECT_EQ(std::get<std::vector<i32>>(shifted(b, "tokens", 2)), (std::vector<i32>{0, 0, 0, 0, 7, 0, 0, 0}));
}

// By row, as mean over the step's micro-batches.
TEST(MultiTokenPrediction, counts_a_step) {
  std::vector<megalith::Batch> batches = {two_rows(), two_rows()};
  batches[1].floats("loss_mask").assign(8, 1);
  const auto counts = step_counts(batches, Gpt(predicting(2)).inputs());
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.at("step_tokens"), (std::vector<float>{3.5, 4}));
  EXPECT_EQ(counts.at("step_tokens.1"), (std::vector<float>{2.5, 3}));
  EXPECT_EQ(counts.at("step_tokens.2"), (std::vector<float>{1.5, 2}));
  EXPECT_TRUE(step_counts(batches, Gpt(llama_like()).inputs()).empty());
  batches[0].arrays.erase("loss_mask");
  EXPECT_THROW(step_counts(batches, Gpt(predicting(2)).inputs()), Error);
}

TEST(MultiTokenPrediction, is_no_part_of_an_evaluation) {
  const auto built = [](bool train) {
    Graph g;
    Builder b(g);
    const Built out = Gpt(predicting(1)).build_whole(b, {.dropout = false, .train = train});
    const bool reads = bool(g.find_leaf("mtp_tokens.1"));
    return std::tuple(out.parameters.size(), out.terms.size(), reads);
  };
  const auto [parameters, terms, reads] = built(true);
  EXPECT_EQ(built(false), std::tuple(parameters - 13, size_t(1), false));
  EXPECT_EQ(terms, 2u);
  EXPECT_TRUE(reads);
}

TEST(MultiTokenPrediction, one_module_may_serve_all_depths) {
  ModelConfig model = predicting(3);
  model.mtp.use_repeated_layer = true;
  Graph g;
  Builder b(g);
  const Built out = Gpt(model).build_whole(b, {});
  EXPECT_EQ(out.terms.size(), 4u);
  for (const Parameter& p : out.parameters) EXPECT_FALSE(p.name.starts_with("mtp.layers.1")) << p.name;
}

// The trunk's gradients are as without modules where their heads are detached, and others where they are not.
TEST(MultiTokenPrediction, detached_heads_leave_the_trunk_alone) {
  const StepResult alone = step_of(llama_like());
  ModelConfig model = predicting(2);
  const StepResult with = step_of(model);
  model.mtp.detach_heads = true;
  const StepResult apart = step_of(model);
  for (const auto& [name, g] : alone.gradients) {
    EXPECT_LE(max_difference(apart.gradients.at(name), g), 1e-14) << name;
    EXPECT_GT(max_difference(with.gradients.at(name), g), 1e-6) << name;
  }
  for (const auto& [name, g] : apart.gradients) EXPECT_GT(most(g), 0) << name;
  EXPECT_EQ(alone.loss, apart.loss);
}

}  // namespace megalith::harness
