// Scales at the places where formulas turn, against values worked out by hand and in float64.
#include "quant/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"

namespace megalith::quant {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(E8M0, EncodesEveryBf16) {
  for (u32 bits = 0; bits < 65536; ++bits) {
    const float x = std::bit_cast<float>(bits << 16);
    const u8 code = E8M0::encode_up(x);
    if (std::isnan(x)) {
      ASSERT_EQ(code, E8M0::kNaN);
      continue;
    }
    int want = 0;  // the first power of two that is not below it
    while (want < 254 && std::ldexp(1.0, want - 127) < std::abs(double(x))) ++want;
    ASSERT_EQ(code, want) << x;
  }
}

TEST(E8M0, DecodesEveryCode) {
  for (u32 code = 0; code < 255; ++code) {
    ASSERT_EQ(E8M0::decode(code), std::ldexp(1.0, int(code) - 127));
    ASSERT_EQ(E8M0::inverse(code), std::ldexp(1.0, 127 - int(code)));
    ASSERT_EQ(E8M0::encode_up(E8M0::decode(code)), code);
  }
  EXPECT_TRUE(std::isnan(E8M0::decode(255)));
  EXPECT_TRUE(std::isnan(E8M0::inverse(255)));
}

TEST(Scale, OfATensorIsOneWithoutAnAmax) {
  for (const float amax : {0.0f, kInfinity, kNaN}) EXPECT_EQ(current_scale(amax, 448), 1);
  EXPECT_EQ(current_scale(0, 448, {.least_amax = 1e-4f}), 448 / 1e-4f);
  EXPECT_EQ(current_scale(7, 448), 64);
}

// TE 786: a tiny amax must not make an infinite scale.
TEST(Scale, DoesNotOverflow) {
  EXPECT_EQ(current_scale(1e-40f, 448), kF32Max);
  EXPECT_EQ(current_scale(1e-40f, 448, {.at_overflow = kBf16Max}), kBf16Max);
  EXPECT_EQ(current_scale(1e-40f, 448, {.power_of_two = true, .at_overflow = kBf16Max}), 0x1p127f);
  EXPECT_EQ(delayed_scale(1e-40f, 1, 448, 0), kF32Max);
  EXPECT_EQ(nv_factor(1e-40f), kF32Max);
}

// TE 2589: the inverse is a subnormal, which a build that flushes them would lose.
TEST(Scale, InversesMayBeSubnormal) {
  volatile float scale = 0x1p127f;
  EXPECT_EQ(std::bit_cast<u32>(inverse(scale)), 0x400000u);
  EXPECT_EQ(E8M0::inverse(254), 0x1p-127f);
}

TEST(Scale, OfPowersOfTwoIsTheOneBelow) {
  for (u64 i = 0; i < 1000; ++i) {
    const float amax = float(std::exp2(40 * unit(mix(3, i)) - 20));
    const double exact = 448.0 / double(amax);
    const float scale = current_scale(amax, 448, {.power_of_two = true});
    EXPECT_EQ(scale, std::exp2(std::floor(std::log2(double(float(exact))))));
    EXPECT_EQ(current_scale(amax, 448), float(exact));
  }
}

TEST(Scale, OfPowersOfTwoByIntegersIsThatByDivision) {
  for (const float largest : {448.0f, 57344.0f})
    for (const float at_overflow : {kF32Max, kBf16Max})
      for (u32 exponent = 0; exponent <= 255; ++exponent)
        for (u64 i = 0; i < 40; ++i) {
          const u32 near = 0x600000u + u32(i) - 16, any = u32(mix(exponent, i)) & 0x7fffffu;
          for (const u32 mantissa : {u32(i / 8), near, 0x7fffffu - u32(i), any}) {
            const float amax = std::bit_cast<float>(exponent << 23 | mantissa);
            const float scale = current_scale(amax, largest, {.power_of_two = true, .at_overflow = at_overflow});
            ASSERT_EQ(power_of_two_scale(amax, largest), scale) << amax;
            ASSERT_EQ(inverse_of_power(scale), inverse(scale)) << amax;
          }
        }
}

TEST(Scale, DelayedKeepsTheOldOne) {
  for (const float amax : {0.0f, kInfinity, kNaN}) EXPECT_EQ(delayed_scale(amax, 37.5f, 448, 0), 37.5f);
  EXPECT_EQ(delayed_scale(7, 1, 448, 0), 64);
  EXPECT_EQ(delayed_scale(7, 1, 448, 3), 8);
}

TEST(Scale, OfMxAndNv) {
  EXPECT_EQ(mx_code(448, 448), 127);
  EXPECT_EQ(mx_code(449, 448), 128);
  EXPECT_EQ(mx_code(0, 448), 0);
  EXPECT_EQ(mx_code(kInfinity, 448), 254);
  EXPECT_EQ(mx_code(kNaN, 448), 255);
  EXPECT_EQ(nv_factor(2), 1344);
  EXPECT_EQ(nv_factor(0), 1);
  EXPECT_EQ(nv_factor(kInfinity), 1);
}

}  // namespace
}  // namespace megalith::quant
