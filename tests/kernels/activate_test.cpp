#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

constexpr Act kActs[] = {Act::gelu, Act::gelu_tanh, Act::squared_relu, Act::tanh, Act::relu};

// long double, because 1 + tanh cancels in the lower tail.
using Wide = long double;
static Wide tanh_argument(Wide x) { return std::sqrt(2 / std::acos(Wide(-1))) * (x + Wide(0.044715) * x * x * x); }

static double plain(Act act, Wide x) {
  if (act == Act::gelu) return double(x / 2 * std::erfc(-x / std::sqrt(Wide(2))));
  if (act == Act::gelu_tanh) return double(x / 2 * (1 + std::tanh(tanh_argument(x))));
  if (act == Act::tanh) return double(std::tanh(x));
  if (act == Act::relu) return x > 0 ? double(x) : 0;
  return x > 0 ? double(x * x) : 0;
}
static double slope(Act act, Wide x) {
  const Wide pi = std::acos(Wide(-1));
  if (act == Act::gelu)
    return double(std::erfc(-x / std::sqrt(Wide(2))) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * pi));
  if (act == Act::squared_relu) return x > 0 ? double(2 * x) : 0;
  if (act == Act::tanh) return double(1 / (std::cosh(x) * std::cosh(x)));
  if (act == Act::relu) return x > 0 ? 1 : 0;
  const Wide t = std::tanh(tanh_argument(x)), du = std::sqrt(2 / pi) * (1 + 3 * Wide(0.044715) * x * x);
  return double((1 + t) / 2 + x / 2 * (1 - t * t) * du);
}

// With the bias the results are the same, and its gradient is the sum of dx.
static void compare_bias(const ActivateGrad& op, const Array& dy, const Array& x, const std::vector<Array>& without) {
  const auto with = run_checked(op, {dy, x});
  for (size_t i = 0; i + 1 < with.size(); ++i) EXPECT_EQ(with[i].x, without[i].x);
  const i64 columns = x.type.shape.back(), rows = i64(x.x.size()) / columns;
  std::vector<double> sums(size_t(columns), 0);
  for (i64 i = 0; i < i64(x.x.size()); ++i) sums[size_t(i % columns)] += without[0][i];
  const double chain = std::sqrt(double(rows));
  expect_near(with.back(), sums, {x.type.dtype, 4 + chain, 4 * chain}, "bias");
}

TEST(Activate, is_its_definition) {
  for (Act act : kActs)
    for (DType t : tested_dtypes())
      for (i64 h : {1, 7, 256, 4099}) {
        const Array x = normals(t, {3, 2, h}, 1, 3), dy = normals(t, {3, 2, h}, 2);
        std::vector<double> y, dx;
        for (i64 i = 0; i < i64(x.x.size()); ++i) y.push_back(plain(act, x[i])), dx.push_back(dy[i] * slope(act, x[i]));
        // A few ulp of exp, times its argument u < 12.
        const Array forward = run_checked(Activate{act}, {x})[0], grad = run_checked(ActivateGrad{act}, {dy, x})[0];
        expect_near(forward, y, {t, 32, 0.1}, "y");
        expect_near(grad, dx, {t, 64, 0.5}, "dx");
        const auto both = run_checked(ActivateGrad{act, 3, true}, {dy, x});
        EXPECT_EQ(both[0].x, grad.x);
        EXPECT_EQ(both[1].x, forward.x);
        for (bool with_output : {false, true}) compare_bias(ActivateGrad{act, 3, with_output, true}, dy, x, both);
      }
}

TEST(Activate, bias_gradient_of_many_rows) {
  for (DType t : tested_dtypes())
    for (const Shape& shape : {Shape{300, 3, 24}, {2000, 1, 8}, {1, 1, 64}, {41, 2, 1}, {700, 1, 264}}) {
      const Array x = normals(t, shape, 1), dy = normals(t, shape, 2);
      const auto both = run_checked(ActivateGrad{Act::gelu_tanh, 3, true}, {dy, x});
      compare_bias(ActivateGrad{Act::gelu_tanh, 3, true, true}, dy, x, both);
    }
}

TEST(Activate, large_and_special_numbers) {
  const Array x = array(DType::f32, {1, 1, 5}, [](i64 i) {
    return std::array{40.0, -40.0, 1e9, -1e9, double(NAN)}[i];
  });
  for (Act act : {Act::gelu, Act::gelu_tanh}) {
    const Array y = run_checked(Activate{act}, {x})[0];
    EXPECT_EQ(y[0], 40);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], 1e9);
    EXPECT_EQ(y[3], 0);
    EXPECT_TRUE(std::isnan(y[4]));
  }
}

TEST(Activate, slope_of_large_numbers) {
  const Array x = array(DType::f32, {1, 1, 7},
                        [](i64 i) { return std::array{40.0, -40.0, 1e9, -1e9, 1e18, -1e18, double(NAN)}[size_t(i)]; });
  const Array dy = array(DType::f32, {1, 1, 7}, [](i64) { return 1; });
  for (Act act : {Act::gelu, Act::gelu_tanh}) {
    const Array dx = run_checked(ActivateGrad{act}, {dy, x})[0];
    for (i64 i = 0; i < 6; ++i) EXPECT_EQ(dx[i], i % 2 == 0 ? 1 : 0) << name_of(act) << " at " << x[i];
    EXPECT_TRUE(std::isnan(dx[6]));
  }
}

TEST(Activate, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (Act act : kActs) {
    std::vector<Array> ins = {normals(DType::f64, {2, 3, 7}, 1, 2)};
    const Array dy = normals(DType::f64, {2, 3, 7}, 2);
    const Array dx = run_quick(ActivateGrad{act}, {dy, ins[0]})[0];
    expect_gradient(ins, 0, dx, [&] { return dot(run_quick(Activate{act}, ins)[0].x, dy.x); });
  }
}

// The value and derivative of the gate.
static std::pair<double, double> gate(Gate act, double x) {
  if (act == Gate::gelu_tanh) return {plain(Act::gelu_tanh, x), slope(Act::gelu_tanh, x)};
  const double k = act == Gate::quick_gelu ? 1.702 : 1, s = 1 / (1 + std::exp(-k * x));
  return {x * s, s * (1 + k * x * (1 - s))};
}

constexpr Gate kGates[] = {Gate::silu, Gate::gelu_tanh, Gate::quick_gelu};

TEST(Swiglu, is_its_definition) {
  for (const Gate act : kGates)
    for (DType t : tested_dtypes())
      for (i64 f : {1, 7, 256, 4099}) {
        const Array x = normals(t, {3, 2, 2, f}, 1, 3), dy = normals(t, {3, 2, f}, 2);
        std::vector<double> y(size_t(6 * f)), dx(size_t(12 * f));
        for (i64 row = 0; row < 6; ++row)
          for (i64 i = 0; i < f; ++i) {
            const double u = x[row * 2 * f + f + i], d = dy[row * f + i];
            const auto [value, slope] = gate(act, x[row * 2 * f + i]);
            y[row * f + i] = value * u;
            dx[row * 2 * f + i] = d * u * slope;
            dx[row * 2 * f + f + i] = d * value;
          }
        const Array forward = run_checked(Swiglu{act}, {x})[0], grad = run_checked(SwigluGrad{false, act}, {dy, x})[0];
        const bool plain = act == Gate::silu;  // other gates have arguments up to 12 of exp
        expect_near(forward, y, {t, plain ? 16.0 : 64.0, 0.5}, "y");
        expect_near(grad, dx, {t, plain ? 32.0 : 128.0, 1.0}, "dx");
        const auto both = run_checked(SwigluGrad{true, act}, {dy, x});
        EXPECT_EQ(both[0].x, grad.x);
        EXPECT_EQ(both[1].x, forward.x);
        compare_amax(Swiglu{act}, {x}, {forward});
        compare_amax(SwigluGrad{false, act}, {dy, x}, {grad});
        compare_amax(SwigluGrad{true, act}, {dy, x}, both);
      }
}

// The largest in any place of a block, and of the last one; a value that is not finite counts as infinite.
TEST(Swiglu, amax_of_any_place) {
  for (DType t : {DType::f32, DType::bf16})
    for (const i64 f : {8, 24, 4099})
      for (i64 at = 0; at < 10 * f; at += 1 + 5 * f / 3) {
        Array x = normals(t, {5, 2, 2, f}, 1);
        x[2 * f * (at / f) + at % f] = 1, x[2 * f * (at / f) + f + at % f] = -512;
        const Array dy = normals(t, {5, 2, f}, 2);
        compare_amax(Swiglu{}, {x}, run_checked(Swiglu{}, {x}));
        compare_amax(SwigluGrad{}, {dy, x}, run_checked(SwigluGrad{}, {dy, x}));
        for (const double far : {double(NAN), double(INFINITY)}) {
          x[2 * f * (at / f) + f + at % f] = far;
          EXPECT_EQ(run_quick(Swiglu{Gate::silu, true}, {x}).back().x, std::vector<double>{INFINITY});
          EXPECT_EQ(run_quick(SwigluGrad{false, Gate::silu, true}, {dy, x}).back().x, std::vector<double>{INFINITY});
        }
      }
}

TEST(Swiglu, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  std::vector<Array> ins = {normals(DType::f64, {2, 3, 2, 5}, 1)};
  const Array dy = normals(DType::f64, {2, 3, 5}, 2);
  for (const Gate act : kGates) {
    const Array dx = run_quick(SwigluGrad{false, act}, {dy, ins[0]})[0];
    expect_gradient(ins, 0, dx, [&] { return dot(run_quick(Swiglu{act}, ins)[0].x, dy.x); });
  }
}

TEST(Swiglu, far_gates_stay_finite) {
  for (const DType t : {DType::f32, DType::bf16})
    for (const double far : {1000.0, 0x1p50}) {  // the cube of the second is infinite
      const Array x = array(t, {1, 1, 2, 2}, [&](i64 i) { return std::array{-far, far, 2.0, 2.0}[i]; });
      const Array dy = array(t, {1, 1, 2}, [](i64) { return 1.0; });
      for (const Gate act : kGates) {
        const Array dx = run_checked(SwigluGrad{false, act}, {dy, x})[0];
        EXPECT_EQ(dx.x, (std::vector<double>{0, 2, 0, far})) << name_of(act) << " of " << far;
      }
    }
}

}  // namespace megalith::kernel_tests
