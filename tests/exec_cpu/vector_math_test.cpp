#include "exec/cpu/vector_math.h"

#include <gtest/gtest.h>

namespace megalith::cpu {

// The distance in units of the last place of a float as large as `want`.
static double ulps(float got, double want) {
  if (double(got) == want) return 0;
  const float near = float(want);
  return std::abs(double(got) - want) / (double(std::nextafter(std::abs(near), INFINITY)) - double(std::abs(near)));
}

template <class F, class W>
double worst(double from, double to, F&& f, W&& want) {
  double out = 0;
  constexpr int n = 400000;
  for (int i = 0; i <= n; i += kLanes<float>) {
    Vec<float> x;
    for (int k = 0; k < kLanes<float>; ++k) x[k] = float(from + (to - from) * double(i + k) / n);
    const Vec<float> y = f(x);
    for (int k = 0; k < kLanes<float>; ++k) out = std::max(out, ulps(y[k], want(double(x[k]))));
  }
  return out;
}

TEST(VectorMath, exp_is_near_the_standard_one) {
  EXPECT_LE(worst(
                -86.5, 88.72, [](Vec<float> x) { return exp(x); }, [](double x) { return std::exp(x); }),
            2);
  EXPECT_LE(worst(
                -1, 1, [](Vec<float> x) { return exp(x); }, [](double x) { return std::exp(x); }),
            2);
}

TEST(VectorMath, exp_at_the_ends) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto at = [](float x) { return exp(fill(x))[0]; };
  EXPECT_EQ(at(-inf), 0);
  EXPECT_EQ(at(-200), 0);
  EXPECT_EQ(at(0), 1);
  EXPECT_EQ(at(100), inf);
  EXPECT_EQ(at(inf), inf);
  EXPECT_TRUE(std::isnan(at(NAN)));
}

TEST(VectorMath, logistic_and_its_rest) {
  const auto s = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LE(worst(
                -80, 80, [](Vec<float> x) { return logistic<float>(x).s; }, s),
            4);
  EXPECT_LE(worst(
                -80, 80, [](Vec<float> x) { return logistic<float>(x).rest; }, [&](double x) { return s(-x); }),
            4);
  EXPECT_TRUE(std::isnan(logistic<float>(fill(NAN)).s[0]));
}

TEST(VectorMath, normal_distribution) {
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  constexpr double most = 7;  // seen: 6.5, or below 6 where the compiler fuses other operations
  EXPECT_LE(worst(
                -12, 12, [](Vec<float> x) { return normal_distribution(x).cdf; }, cdf),
            most);
  EXPECT_LE(worst(
                -3, 3, [](Vec<float> x) { return normal_distribution(x).cdf; }, cdf),
            most);
  EXPECT_LE(worst(
                -12, 12, [](Vec<float> x) { return normal_distribution(x).density; }, density),
            4);
  for (float x : {50.0f, 1e30f}) {
    EXPECT_EQ(normal_distribution(fill(x)).cdf[0], 1);
    EXPECT_EQ(normal_distribution(fill(-x)).cdf[0], 0);
  }
  EXPECT_TRUE(std::isnan(normal_distribution(fill(NAN)).cdf[0]));
}

template <class T>
void transposes() {
  constexpr int n = kLanes<T>;
  Vec<T> rows[n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) rows[i][j] = T(i * n + j);
  transpose<T>(rows);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) EXPECT_EQ(rows[i][j], T(j * n + i));
}
TEST(Vector, transpose) { transposes<float>(), transposes<double>(); }

TEST(Vector, bf16_stores_as_the_scalar_type_does) {
  for (u32 i = 0; i < 2000000; i += kLanes<float>) {
    Vec<float> x;
    for (int k = 0; k < kLanes<float>; ++k) x[k] = std::bit_cast<float>((i + u32(k)) * 2147u);
    bf16 y[kLanes<float>];
    store(y, x);
    for (int k = 0; k < kLanes<float>; ++k) ASSERT_EQ(y[k].bits, bf16(x[k]).bits) << x[k];
  }
}

TEST(Vector, f16_loads_and_stores_as_the_scalar_type_does) {
  constexpr int n = kLanes<float>;
  for (u32 i = 0; i < 0x10000; i += u32(n)) {
    f16 x[n];
    for (int k = 0; k < n; ++k) x[k].bits = u16(i + u32(k));
    const Vec<float> y = load(x);
    for (int k = 0; k < n; ++k)
      ASSERT_TRUE(y[k] == float(x[k]) || (std::isnan(y[k]) && std::isnan(float(x[k])))) << x[k].bits;
  }
  for (u32 i = 0; i < 2000000; i += u32(n)) {
    Vec<float> x;
    for (int k = 0; k < n; ++k) x[k] = std::bit_cast<float>((i + u32(k)) * 2147u);
    f16 y[n];
    store(y, x);
    for (int k = 0; k < n; ++k) ASSERT_EQ(y[k].bits, f16(x[k]).bits) << x[k];
  }
}

}  // namespace megalith::cpu
