// What tensor cores may lose bounds what a model of them loses, and not by much.
#include "quant/tensor_core.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "quant/small_float.h"

namespace megalith::quant {
namespace {

double cut(double x, double step) { return std::trunc(x / step) * step; }
double step_of(double x) { return x == 0 ? 0x1p-1000 : std::ldexp(1.0, std::ilogb(x) - 13); }

// 32 products at a time, aligned, cut to 13 bits and added; f32 after each `part`.
double sum_on_tensor_cores(const std::vector<double>& p, size_t part) {
  double total = 0;
  for (size_t begin = 0; begin < p.size(); begin += part) {
    double sum = 0;
    for (size_t i = begin; i < std::min(p.size(), begin + part); i += 32) {
      double largest = std::abs(sum), next = 0;
      for (size_t k = i; k < std::min(p.size(), i + 32); ++k) largest = std::max(largest, std::abs(p[k]));
      for (size_t k = i; k < std::min(p.size(), i + 32); ++k) next += cut(p[k], step_of(largest));
      next += cut(sum, step_of(largest));
      sum = cut(next, step_of(next));
    }
    total += sum;
  }
  return total;
}

// Products of codes of normally distributed numbers.
std::vector<double> products(size_t n, u64 seed, bool positive) {
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) {
    const auto code = [&](u64 k) {
      return double(E4M3::decode(E4M3::encode(float(75 * normal(mix_all(seed, k, i))))));
    };
    const double p = code(1) * code(2);
    out.push_back(positive ? std::abs(p) : p);
  }
  return out;
}

double exact_sum(const std::vector<double>& p) {
  double sum = 0;
  for (const double x : p) sum += x;
  return sum;
}

}  // namespace

TEST(TensorCore, loses_what_lies_13_bits_below) {
  EXPECT_EQ(lost_on_tensor_cores(std::vector<double>{0, 0, 0}), 0);
  const double one_step = 0x1p-13;
  EXPECT_EQ(lost_on_tensor_cores(std::vector<double>{1, 0x1p-13}), one_step);  // of the sum alone
  EXPECT_EQ(lost_on_tensor_cores(std::vector<double>{1, 0x1p-14}), 2 * one_step);
  EXPECT_EQ(lost_on_tensor_cores(std::vector<double>{4, 0x1p-14, 0x1p-14}), 12 * one_step);
  std::vector<double> apart(129, 0);
  apart[0] = 1, apart[128] = 0x1p-14;  // never in one sum
  EXPECT_EQ(lost_on_tensor_cores(apart), one_step + 0x1p-27);
  EXPECT_GE(lost_on_tensor_cores(apart, 129), 2 * one_step);
}

TEST(TensorCore, bounds_a_model_of_them) {
  for (const bool positive : {false, true})
    for (const size_t n : {32u, 48u, 192u, 1000u})
      for (const size_t part : {size_t{128}, n}) {
        double nearest = 0;
        for (u64 seed = 0; seed < 60; ++seed) {
          const std::vector<double> p = products(n, seed, positive);
          const double error = std::abs(sum_on_tensor_cores(p, part) - exact_sum(p)),
                       bound = lost_on_tensor_cores(p, i64(part));
          ASSERT_LE(error, bound) << n << " by " << part;
          nearest = std::max(nearest, error / bound);
        }
        EXPECT_GE(nearest, 0.1) << n << " by " << part;
      }
}

}  // namespace megalith::quant
