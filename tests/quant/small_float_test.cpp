// Every code and every bf16 value against the formats' definition in float64, written here once more.
#include "quant/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace megalith::quant {
namespace {

struct Definition {
  int exponent, mantissa;
  double largest;
  int nan_from;  // the first code without sign that is NaN; kNone: none is
};
constexpr int kNone = 1 << 8;

// A format, and the float64 definition of it.
struct E4M3Case {
  using Format = E4M3;
  static constexpr Definition definition = {4, 3, 448, 0x7f};
};
struct E5M2Case {
  using Format = E5M2;
  static constexpr Definition definition = {5, 2, 57344, 0x7d};
};
struct E2M1Case {
  using Format = E2M1;
  static constexpr Definition definition = {2, 1, 6, kNone};
};

double value_of(const Definition& d, int code) {
  const int bits = d.exponent + d.mantissa, bias = (1 << (d.exponent - 1)) - 1;
  const double sign = code >> bits != 0 ? -1 : 1;
  const int magnitude = code & ((1 << bits) - 1), e = magnitude >> d.mantissa, m = magnitude % (1 << d.mantissa);
  if (magnitude >= d.nan_from) return std::numeric_limits<double>::quiet_NaN();
  const double value =
      e == 0 ? std::ldexp(m, 1 - bias - d.mantissa) : std::ldexp(1 + std::ldexp(m, -d.mantissa), e - bias);
  return sign * (value > d.largest ? std::numeric_limits<double>::infinity() : value);
}

// The nearest finite value by trying all; of two equally near ones the even code.
int nearest(const Definition& d, double x) {
  const int sign = std::signbit(x) ? 1 << (d.exponent + d.mantissa) : 0;
  int best = 0;
  for (int code = 0; value_of(d, code) <= d.largest && code < 1 << (d.exponent + d.mantissa); ++code) {
    const double distance = std::abs(std::min(std::abs(x), d.largest) - value_of(d, code));
    const double least = std::abs(std::min(std::abs(x), d.largest) - value_of(d, best));
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return sign | best;
}

template <class Case>
struct SmallFloatTest : ::testing::Test {
  using Format = typename Case::Format;

  static void expect_nearest(float x) {
    if (std::isnan(x)) {
      ASSERT_EQ(Format::encode(x), Format::kNaN);
    } else {
      ASSERT_EQ(Format::encode(x), nearest(Case::definition, x)) << x;
    }
  }
};
using Cases = ::testing::Types<E4M3Case, E5M2Case, E2M1Case>;
TYPED_TEST_SUITE(SmallFloatTest, Cases);

TYPED_TEST(SmallFloatTest, DecodesEveryCode) {
  using Format = typename TypeParam::Format;
  for (int code = 0; code < 1 << Format::kBits; ++code) {
    const double want = value_of(TypeParam::definition, code);
    const float value = Format::decode(u32(code));
    ASSERT_EQ(std::isnan(value), std::isnan(want)) << code;
    ASSERT_EQ(Format::is_nan(u32(code)), std::isnan(want)) << code;
    if (!std::isnan(want)) ASSERT_EQ(double(value), want) << code;
    if (!std::isnan(want)) ASSERT_EQ(std::signbit(value), code >> (Format::kBits - 1) != 0) << code;
    if (std::isfinite(want)) ASSERT_EQ(Format::encode(value), code);
  }
}

TYPED_TEST(SmallFloatTest, EncodesEveryBf16) {
  for (u32 bits = 0; bits < 65536; ++bits) this->expect_nearest(std::bit_cast<float>(bits << 16));
}

// Values, midpoints between them, and f32's neighbours of both; and any bits.
TYPED_TEST(SmallFloatTest, EncodesWhereRoundingTurns) {
  using Format = typename TypeParam::Format;
  const float infinity = std::numeric_limits<float>::infinity();
  for (u32 code = 0; code < Format::kMaxCode; ++code) {
    const float a = Format::decode(code), b = Format::decode(code + 1), middle = (a + b) / 2;
    for (const float x : {a, b, middle})
      for (const float near : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity)})
        this->expect_nearest(near), this->expect_nearest(-near);
  }
  for (u64 i = 0; i < 20000; ++i) this->expect_nearest(std::bit_cast<float>(u32(mix(1, i))));
}

TYPED_TEST(SmallFloatTest, SaturatesAndKeepsSigns) {
  using Format = typename TypeParam::Format;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Format::encode(infinity), Format::kMaxCode);
  EXPECT_EQ(Format::encode(-infinity), Format::kMaxCode | Format::kSign);
  EXPECT_EQ(Format::encode(std::numeric_limits<float>::max()), Format::kMaxCode);
  EXPECT_EQ(Format::encode(-0.0f), Format::kSign);
  EXPECT_EQ(Format::encode(-1e-40f), Format::kSign);
}

// What CUDA kernels share is known at compile time.
static_assert(E4M3::encode(448.0f) == 0x7e && E4M3::decode(0x01) == 0x1p-9f && kLargest<E4M3> == 448.0f);
static_assert(E5M2::encode(1e9f) == 0x7b && E5M2::decode(0x01) == 0x1p-16f && kLargest<E5M2> == 57344.0f);
static_assert(E2M1::encode(2.5f) == 4 && E2M1::encode(0.25f) == 0 && kLargest<E2M1> == 6.0f);

}  // namespace
}  // namespace megalith::quant
