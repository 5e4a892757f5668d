// Tests of growing batches. Batch size and learning rate of each step must equal those of Megatron's classes
// (tests/train/ramp_reference.py). Also tests the end of a run and refused settings.
#include "settings/batch_sizes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "options_helpers.h"
#include "settings/schedules.h"
#include "tests/places.h"

namespace megalith {
namespace {

using nlohmann::json;

// The command line of a run with one layer and sequences of 32 tokens, with these flags.
std::string line(const std::string& flags) {
  return "--num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2 --mock-data "
         "--vocab-size 64 " +
         flags;
}

TEST(BatchSizes, AreMegatronsAtEachOf200Steps) {
  const json cases = json::parse(std::ifstream(std::string(kSourceDir) + "/tests/golden/batch_ramp.json"));
  ASSERT_EQ(cases.size(), 5);
  for (const json& c : cases) {
    SCOPED_TRACE(c["flags"].get<std::string>());
    const Options o = options_of(line(c["flags"]));
    const BatchSizes sizes(o);
    const Schedules schedules = make_schedules(o);
    EXPECT_EQ(schedules.decoupled.has_value(), c.contains("decoupled_lr"));
    i64 consumed = 0;
    size_t step = 0;
    for (const json& run : c["sizes"])
      for (i64 k = 0; k < run[1].get<i64>(); ++k, ++step) {
        ASSERT_EQ(sizes.at(consumed), run[0].get<i64>()) << step;
        const double lr = c["lr"][step];
        ASSERT_NEAR(schedules.lr.at(consumed), lr, 1e-14 * lr) << step;  // pow and cos may round otherwise
        if (schedules.decoupled) {
          const double other = c["decoupled_lr"][step];
          ASSERT_NEAR(schedules.decoupled->at(consumed), other, 1e-14 * other) << step;
        }
        consumed += sizes.at(consumed);
      }
    EXPECT_EQ(step, 200);
    EXPECT_EQ(consumed, c["consumed"].get<i64>());
  }
}

// A resumed run reads the same number of samples, and ends at the same iteration.
TEST(BatchSizes, ARunThatResumesEndsWhereItWouldHave) {
  for (const char* flags : {"--lr 1e-3 --rampup-batch-size 4 4 1000 --global-batch-size 32 --train-samples 5000",
                            "--lr 1e-3 --rampup-batch-size 4 4 1000 --global-batch-size 32 --train-samples 777",
                            "--lr 1e-3 --rampup-batch-size 4 4 1000 --global-batch-size 32 --train-iters 150",
                            "--lr 1e-3 --step-batch-size-schedule 0:8,16K:12,50K:32 --train-samples 3001",
                            "--lr 1e-3 --global-batch-size 33 --decrease-batch-size-if-needed --train-iters 20",
                            "--lr 1e-3 --global-batch-size 32 --train-samples 1000"}) {
    SCOPED_TRACE(flags);
    const Options o = options_of(line(flags));
    const BatchSizes sizes(o);
    const i64 end = train_iters(o);
    RunState state;
    const SampleCounts asked = sample_counts(run_length(o));
    for (; state.iteration < end; state.advance(sizes.at(state.consumed_samples), true)) {
      EXPECT_EQ(train_iters(o, state), end) << state.iteration;
      EXPECT_TRUE(!sizes.change() || sample_counts(run_length(o, state)) == asked) << state.iteration;
    }
    EXPECT_LE(state.consumed_samples, *asked.train);
    EXPECT_EQ(sizes.end(o.train, 0, 0).consumed, state.consumed_samples);
  }
}

// If the batch size grows by tokens, Megatron counts a smaller last batch. Otherwise it drops that batch.
TEST(BatchSizes, TheEndOfARunBySamples) {
  const auto iterations = [](const std::string& flags) { return train_iters(options_of(line("--lr 1e-3 " + flags))); };
  EXPECT_EQ(iterations("--global-batch-size 32 --train-samples 1000"), 31);
  EXPECT_EQ(iterations("--step-batch-size-schedule 0:32 --train-samples 1000"), 31);
  EXPECT_EQ(iterations("--step-batch-size-schedule 0:8,8K:32 --train-samples 1000"), 32 + 24);  // 744 / 32 = 23.25
  // Batches of 4, 8, 12, 16 over 30 samples: 4 4 4 | 8 | 12 at 20 | from 32 on 16 each; (100 - 32) / 16 = 4
  EXPECT_EQ(iterations("--rampup-batch-size 4 4 30 --global-batch-size 16 --train-samples 100"), 3 + 1 + 1 + 4);
}

TEST(BatchSizes, MistakesAreNamed) {
  const auto refused = [](const std::string& flags) { return refusal_of(line("--lr 1e-3 --train-iters 10 " + flags)); };
  const auto expect = [&](const std::string& flags, const std::string& part) {
    EXPECT_NE(refused(flags).find(part), std::string::npos) << flags << ": " << refused(flags);
  };
  expect("--rampup-batch-size 4 4 --global-batch-size 16", "2 values: want START INCREMENT SAMPLES");
  expect("--rampup-batch-size 4 five 100 --global-batch-size 16", "'five'");
  expect("--rampup-batch-size 32 4 100 --global-batch-size 16", "more than --global-batch-size 16");
  expect("--rampup-batch-size 4 5 100 --global-batch-size 16", "increments of 5 do not divide");
  expect("--rampup-batch-size 3 1 100 --global-batch-size 16", "a global batch of 3");
  expect("--rampup-batch-size 1 1 100 --global-batch-size 16 --decrease-batch-size-if-needed",
         "makes a global batch 0");
  expect("--step-batch-size-schedule 0:8,1K", "'1K' is no TOKENS:SIZE");
  expect("--step-batch-size-schedule 1K:8", "begin with 0:SIZE");
  expect("--step-batch-size-schedule 0:8,1:16", "two sizes from sample 0");
  expect("--step-batch-size-schedule 0:8,1K:x", "'1K:x'");
  expect("--step-batch-size-schedule 0:8 1K:16 --global-batch-size 8", "ends with 16, --global-batch-size is 8");
  EXPECT_EQ(refused("--step-batch-size-schedule 0:8 1K:16 --global-batch-size 16"), "");
  expect("--step-batch-size-schedule 0:8 --decrease-batch-size-if-needed", "exclude each other");
  EXPECT_EQ(refused("--step-batch-size-schedule 0:8"), "");
  EXPECT_EQ(options_of(line("--lr 1e-3 --train-iters 10 --step-batch-size-schedule 0:8,1K:16")).train.global_batch_size,
            16);
}

}  // namespace
}  // namespace megalith
