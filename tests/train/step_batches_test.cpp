// What a step reads ahead, and the array that it makes of it.
#include "step/step_batches.h"

#include <gtest/gtest.h>

namespace megalith {

// Batches of 2 sequences of 3 tokens, of which the m-th has m masked ones in its second row.
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

TEST(StepBatches, reads_ahead_only_where_the_model_asks) {
  CountedSource source;
  StepBatches plain(source, 3, false);
  EXPECT_EQ(source.given, 0);
  EXPECT_FALSE(plain.next().arrays.contains(kStepTokens));
  EXPECT_EQ(source.given, 1);
}

TEST(StepBatches, gives_the_mean_of_counted_tokens_of_each_row) {
  CountedSource source;
  StepBatches all(source, 3, true);
  EXPECT_EQ(source.given, 3);
  for (int m = 0; m < 3; ++m) {
    const Batch batch = all.next();
    EXPECT_EQ(batch.ints("tokens")[0], m);
    EXPECT_EQ(batch.floats(kStepTokens), (std::vector<float>{3, 2}));
  }
  EXPECT_EQ(source.given, 3);
}

TEST(StepBatches, data_without_a_mask_is_refused) {
  CountedSource source;
  source.has_mask = false;
  EXPECT_THROW(StepBatches(source, 2, true), Error);
  EXPECT_TRUE(reads_step_tokens({{"tokens"}, {kStepTokens, false}}));
  EXPECT_FALSE(reads_step_tokens({{"tokens"}}));
}

}  // namespace megalith
