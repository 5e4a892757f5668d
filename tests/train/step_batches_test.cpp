// Tests of the batches that a step reads ahead, and of the arrays that it makes from them.
#include "step/step_batches.h"

#include <gtest/gtest.h>

namespace megalith {

// Each batch has 2 sequences of 3 tokens. In batch m the second sequence has m masked tokens.
struct CountedSource final : BatchSource {
  int given = 0;
  bool has_mask = true;
  Batch next() override {
    Batch out{.sequences = 2, .seq_length = 3};
    out.ints("tokens") = {given, 0, 0, 0, 0, 0};
    if (has_mask) out.floats("loss_mask") = {1, 1, 1, 1, 1, 1};
    for (int i = 0; i < given && has_mask; ++i) out.floats("loss_mask")[size_t(5 - i)] = 0;
    ++given;
    return out;
  }
  i64 consumed_samples() const override { return 2 * given; }
  double seconds_waited() const override { return 0; }
};

const std::vector<DataInput> kAsks = {{"tokens"}, {kStepTokens, false, {}, "loss_mask"}};

TEST(StepBatches, reads_ahead_only_where_the_model_asks) {
  CountedSource source;
  StepBatches plain(source, 3, {{"tokens"}});
  EXPECT_EQ(source.given, 0);
  EXPECT_FALSE(plain.next().arrays.contains(kStepTokens));
  EXPECT_EQ(source.given, 1);
}

TEST(StepBatches, gives_the_mean_of_counted_tokens_of_each_row) {
  CountedSource source;
  StepBatches all(source, 3, kAsks);
  EXPECT_EQ(source.given, 3);
  for (int m = 0; m < 3; ++m) {
    const Batch batch = all.next();
    EXPECT_EQ(batch.ints("tokens")[0], m);
    EXPECT_EQ(batch.floats(kStepTokens), (std::vector<float>{3, 2}));
  }
  EXPECT_EQ(source.given, 3);
}

// The data have no mask. It is computed from the batch, as the model specifies.
TEST(StepBatches, counts_a_mask_that_is_made) {
  CountedSource source;
  const auto first_only = [](const Batch& b) {
    std::vector<float> mask(b.floats("loss_mask").size(), 0);
    mask[0] = 1;
    return Batch::Array(mask);
  };
  StepBatches all(source, 2, {{"other_mask", true, first_only}, {"step_tokens.1", false, {}, "other_mask"}});
  EXPECT_EQ(all.next().floats("step_tokens.1"), (std::vector<float>{1, 0}));
  EXPECT_FALSE(all.next().arrays.contains(kStepTokens));
}

TEST(StepBatches, data_without_a_mask_is_refused) {
  CountedSource source;
  source.has_mask = false;
  EXPECT_THROW(StepBatches(source, 2, kAsks), Error);
}

}  // namespace megalith
