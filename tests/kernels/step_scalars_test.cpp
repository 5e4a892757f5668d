// StepScalars: the mean loss, the norm and the factor of a step, with and without a loss scale.
#include <limits>

#include "kernel_run.h"

namespace megalith::kernel_tests {

namespace {

std::vector<double> scalars(double squares, double loss, double tokens, double clip) {
  return run_kernel(StepScalars{clip}, {tensor(DType::f64, {}, {squares}), tensor(DType::f32, {}, {loss}),
                                        tensor(DType::f32, {}, {tokens})})[0]
      .x;
}

// squares: of the gradients that a scaled loss of this state has.
std::vector<Tensor> scaled(const LossScaling& s, double squares, const std::vector<double>& state) {
  return run_kernel(StepScalars{0.5, s}, {tensor(DType::f64, {}, {squares}), tensor(DType::f32, {}, {30}),
                                          tensor(DType::f32, {}, {5}), tensor(DType::f64, {3}, state)});
}

}  // namespace

TEST(StepScalars, mean_loss_norm_and_clipping) {
  const auto plain = scalars(100, 30, 5, 0), clipped = scalars(100, 30, 5, 0.5), small = scalars(100, 30, 5, 4);
  EXPECT_EQ(plain, (std::vector<double>{6, 2, 0.2, 1}));
  EXPECT_DOUBLE_EQ(clipped[step_scalar::kFactor], 0.5 / (2 + 1e-6) / 5);
  EXPECT_DOUBLE_EQ(clipped[step_scalar::kGradNorm], 2);
  EXPECT_EQ(small, plain);
}

TEST(StepScalars, steps_that_do_not_count) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(scalars(nan, 30, 5, 1)[step_scalar::kCounts], 0);
  EXPECT_EQ(scalars(inf, 30, 5, 1)[step_scalar::kCounts], 0);
  EXPECT_EQ(scalars(1, nan, 5, 1)[step_scalar::kCounts], 0);
  EXPECT_EQ(scalars(1, nan, 5, 1)[step_scalar::kFactor], 0);
}

TEST(StepScalars, a_step_without_a_token_has_no_loss_and_no_gradient) {
  EXPECT_EQ(scalars(0, 0, 0, 0), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(scalars(0, 0, 0, 1), (std::vector<double>{0, 0, 1, 1}));
}

TEST(StepScalars, norm_and_factor_are_without_the_loss_scale) {
  if (!tested(DType::f16)) GTEST_SKIP() << "a scaled loss is not built for this device";
  const std::vector<double> plain = scalars(100, 30, 5, 0.5);
  const LossScaling s{.rule = {}, .unit = 0.125};
  const double by = 1024 * 0.125;
  const std::vector<Tensor> out = scaled(s, 100 * by * by, {1024, 3, 1});
  for (const int i : {step_scalar::kLoss, step_scalar::kGradNorm, step_scalar::kCounts})
    EXPECT_EQ(out[0].x[size_t(i)], plain[size_t(i)]);
  EXPECT_EQ(out[0].x[step_scalar::kFactor], plain[step_scalar::kFactor] / by);
  EXPECT_EQ(out[1].x, (std::vector<double>{1024, 4, 1}));
}

TEST(StepScalars, move_the_loss_scale) {
  if (!tested(DType::f16)) GTEST_SKIP() << "a scaled loss is not built for this device";
  const double inf = std::numeric_limits<double>::infinity();
  const LossScaling s{.rule = {.initial = 1024, .least = 16, .window = 4, .hysteresis = 2}};
  using State = std::vector<double>;
  EXPECT_EQ(scaled(s, inf, {1024, 3, 2})[1].x, (State{1024, 0, 1}));
  EXPECT_EQ(scaled(s, inf, {1024, 0, 1})[1].x, (State{512, 0, 0}));
  EXPECT_EQ(scaled(s, inf, {512, 1, 0})[1].x, (State{256, 0, -1}));
  EXPECT_EQ(scaled(s, inf, {16, 0, -5})[1].x, (State{16, 0, -6}));
  EXPECT_EQ(scaled(s, 1, {512, 3, -1})[1].x, (State{1024, 0, 2}));
  LossScaling constant = s;
  constant.constant = true;
  const std::vector<Tensor> out = scaled(constant, inf, {1024, 0, 2});
  EXPECT_EQ(out[0].x[step_scalar::kCounts], 0);
  EXPECT_EQ(out[1].x, (State{1024, 0, 2}));
}

}  // namespace megalith::kernel_tests
