#include "optim/lr_schedule.h"
#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace megalith {

static LrSchedule schedule(LrDecay style) {
  return {.style = style,
          .max_lr = 1,
          .min_lr = 0.1,
          .warmup_init = 0.2,
          .warmup_samples = 100,
          .decay_samples = 1100,
          .wsd_decay_samples = 400};
}

TEST(LrSchedule, warms_up_from_init_to_max) {
  for (LrDecay style :
       {LrDecay::constant, LrDecay::linear, LrDecay::cosine, LrDecay::inverse_square_root, LrDecay::wsd}) {
    const LrSchedule s = schedule(style);
    EXPECT_DOUBLE_EQ(s.at(0), 0.2);
    EXPECT_DOUBLE_EQ(s.at(50), 0.6);
    EXPECT_DOUBLE_EQ(s.at(100), 1.0);
  }
}

TEST(LrSchedule, without_warmup_the_first_step_has_the_full_rate) {
  LrSchedule s = schedule(LrDecay::cosine);
  s.warmup_samples = 0;
  EXPECT_DOUBLE_EQ(s.at(0), 1.0);
}

TEST(LrSchedule, constant_never_falls) {
  EXPECT_DOUBLE_EQ(schedule(LrDecay::constant).at(101), 1.0);
  EXPECT_DOUBLE_EQ(schedule(LrDecay::constant).at(1'000'000), 1.0);
}

TEST(LrSchedule, linear) {
  const LrSchedule s = schedule(LrDecay::linear);
  EXPECT_DOUBLE_EQ(s.at(350), 0.1 + 0.75 * 0.9);
  EXPECT_DOUBLE_EQ(s.at(1100), 0.1);
  EXPECT_DOUBLE_EQ(s.at(1101), 0.1);
}

TEST(LrSchedule, cosine) {
  const LrSchedule s = schedule(LrDecay::cosine);
  EXPECT_DOUBLE_EQ(s.at(600), 0.1 + 0.5 * 0.9);
  EXPECT_DOUBLE_EQ(s.at(350), 0.1 + 0.5 * (std::sqrt(0.5) + 1) * 0.9);  // cos(pi/4)
  EXPECT_DOUBLE_EQ(s.at(1100), 0.1);
}

TEST(LrSchedule, inverse_square_root) {
  LrSchedule s = schedule(LrDecay::inverse_square_root);
  EXPECT_DOUBLE_EQ(s.at(400), 0.5);
  EXPECT_DOUBLE_EQ(s.at(900), 1.0 / 3);
  EXPECT_DOUBLE_EQ(s.at(1101), 0.1);
  s.min_lr = 0.4;
  EXPECT_DOUBLE_EQ(s.at(900), 0.4);
  s.warmup_samples = 0;  // counts as one sample
  s.min_lr = 0;
  EXPECT_DOUBLE_EQ(s.at(0), 1.0);
  EXPECT_DOUBLE_EQ(s.at(4), 0.5);
}

TEST(LrSchedule, wsd_is_stable_then_decays_in_four_ways) {
  LrSchedule s = schedule(LrDecay::wsd);
  EXPECT_DOUBLE_EQ(s.at(500), 1.0);
  EXPECT_DOUBLE_EQ(s.at(700), 1.0);
  const auto coefficient = [&](WsdDecay style, i64 n) {
    s.wsd_style = style;
    return (s.at(n) - 0.1) / 0.9;
  };
  EXPECT_NEAR(coefficient(WsdDecay::linear, 800), 0.75, 1e-15);
  EXPECT_NEAR(coefficient(WsdDecay::cosine, 900), 0.5, 1e-15);
  EXPECT_NEAR(coefficient(WsdDecay::minus_sqrt, 800), 0.5, 1e-15);
  EXPECT_NEAR(coefficient(WsdDecay::exponential, 900), 2 * std::sqrt(0.5) - 1, 1e-15);
  for (WsdDecay style : {WsdDecay::linear, WsdDecay::cosine, WsdDecay::minus_sqrt, WsdDecay::exponential})
    EXPECT_NEAR(coefficient(style, 1100), 0, 1e-15);
}

TEST(MakeLrSchedule, turns_iterations_into_samples) {
  const LrSchedule s =
      make_lr_schedule({.decay_style = LrDecay::wsd, .lr = 1e-3, .warmup_iters = 3, .wsd_decay_iters = 5},
                       {.train_iters = 20, .global_batch_size = 8});
  EXPECT_EQ(s.decay_samples, 160);
  EXPECT_EQ(s.warmup_samples, 24);
  EXPECT_EQ(s.wsd_decay_samples, 40);
}

TEST(MakeLrSchedule, takes_samples_as_they_are) {
  const LrSchedule s = make_lr_schedule({.lr = 1e-3, .decay_samples = 900, .warmup_samples = 7},
                                        {.train_samples = 1000, .global_batch_size = 8});
  EXPECT_EQ(s.decay_samples, 900);
  EXPECT_EQ(s.warmup_samples, 7);
}

TEST(MakeLrSchedule, fraction_is_of_the_decay_and_not_rounded) {
  const LrSchedule s = make_lr_schedule({.lr = 1, .decay_iters = 5, .warmup_fraction = 0.25},
                                        {.train_iters = 9, .global_batch_size = 2});
  EXPECT_EQ(s.warmup_samples, 2.5);
  EXPECT_DOUBLE_EQ(s.at(2), 0.8);
}

TEST(MakeLrSchedule, refuses_what_does_not_go_together) {
  const TrainLength iters{.train_iters = 10, .global_batch_size = 4},
      samples{.train_samples = 40, .global_batch_size = 4};
  const auto error = [](const LrFlags& f, const TrainLength& l) { return error_of([&] { make_lr_schedule(f, l); }); };
  EXPECT_EQ(error({.lr = 1e-4, .min_lr = 1e-3}, iters), "--min-lr is 0.001: give a number from 0 to --lr (0.0001)");
  EXPECT_NE(error({.lr = -1}, iters).find("--lr is -1"), std::string::npos);
  EXPECT_NE(error({.lr = NAN}, iters).find("--lr is nan"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_init = 2}, iters).find("--lr-warmup-init is 2"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_iters = 10}, iters).find("(40 samples) is not shorter"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_iters = -1}, iters).find("-1 iterations"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_iters = 1}, samples).find("--lr-warmup-samples"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .decay_samples = 10}, iters).find("give --lr-decay-iters"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .decay_iters = 0}, iters).find("decay length is 0"), std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_iters = 1, .warmup_fraction = 0.1}, iters).find("give one of them"),
            std::string::npos);
  EXPECT_NE(error({.lr = 1, .warmup_fraction = 1.5}, iters).find("--lr-warmup-fraction is 1.5"), std::string::npos);
  EXPECT_NE(error({.decay_style = LrDecay::wsd, .lr = 1}, iters).find("--lr-wsd-decay-iters"), std::string::npos);
  EXPECT_NE(error({.decay_style = LrDecay::wsd, .lr = 1, .wsd_decay_iters = 11}, iters).find("at most the decay's 40"),
            std::string::npos);
  EXPECT_NE(error({.lr = 1}, {}).find("--train-iters is 0"), std::string::npos);
  EXPECT_NE(error({.lr = 1}, {.train_iters = 1, .train_samples = 1}).find("give one of them"), std::string::npos);
}

}  // namespace megalith
