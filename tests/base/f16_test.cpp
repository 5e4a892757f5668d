// f16 against its definition: sign, 5 bits of exponent, 10 of fraction; the nearest number, of two the even one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/dtype.h"

namespace megalith {
namespace {

f16 of_bits(u32 bits) {
  f16 h;
  h.bits = u16(bits);
  return h;
}

double defined(u32 bits) {
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

TEST(F16, each_code_has_its_value_and_comes_back) {
  for (u32 bits = 0; bits < 0x10000; ++bits) {
    const float value = of_bits(bits);
    if (std::isnan(defined(bits))) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(float(f16(value)))) << bits;
      continue;
    }
    ASSERT_EQ(double(value), defined(bits)) << bits;
    ASSERT_EQ(f16(value).bits, bits);
  }
  EXPECT_TRUE(std::isnan(float(f16(std::bit_cast<float>(0x7f800001u)))));  // whose highest bits are those of infinity
}

// Between two neighbours: below, at and above their middle.
TEST(F16, takes_the_nearest_and_of_two_the_even_one) {
  for (u32 bits = 0; bits < 0x7bff; ++bits) {
    const float low = of_bits(bits), high = of_bits(bits + 1), middle = (low + high) / 2;  // exact in f32
    for (const u32 sign : {0u, 0x8000u}) {
      const auto code = [&](float x) { return f16(sign ? -x : x).bits - sign; };
      ASSERT_EQ(code(middle), bits + bits % 2);
      ASSERT_EQ(code(std::nextafter(middle, low)), bits);
      ASSERT_EQ(code(std::nextafter(middle, high)), bits + 1);
      ASSERT_EQ(code(std::nextafter(low, high)), bits);
    }
  }
}

TEST(F16, what_is_too_large_is_infinite_and_what_is_too_small_zero) {
  EXPECT_EQ(f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(-3e38f).bits, 0xfc00);
  EXPECT_EQ(f16(0x1p-25f).bits, 0);
  EXPECT_EQ(f16(std::nextafter(0x1p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(f16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

}  // namespace
}  // namespace megalith
