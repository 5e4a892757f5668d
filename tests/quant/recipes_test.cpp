// Whole recipes on small tensors, where what comes out is known: errors of a block, saturation, histories, orders.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "quant/blocks.h"
#include "quant/cast.h"
#include "quant/delayed.h"
#include "quant/loss_scale.h"
#include "quant/mxfp8.h"
#include "quant/nvfp4.h"
#include "quant/product.h"
#include "quant/scale.h"
#include "quant/scale_order.h"
#include "quant/stochastic.h"
#include "tests/error_of.h"

namespace megalith::quant {
namespace {

// [rows, cols], each column of another size.
std::vector<bf16> values(i64 rows, i64 cols) {
  std::vector<bf16> x;
  for (i64 i = 0; i < rows * cols; ++i)
    x.push_back(float(normal(mix(7, u64(i))) * std::exp2(double(i % cols % 7) - 3)));
  return x;
}

// A value of e4m3 with three bits of mantissa: off by 2^-4 of itself, or by half a step of the smallest.
double bound_of(double value, double scale_inv) { return std::max(std::abs(value) / 16, scale_inv / 1024); }

TEST(Blocks, ComeBackWithinAStep) {
  const i64 rows = 130, cols = 300;
  const std::vector<bf16> x = values(rows, cols);
  std::vector<u8> codes(x.size());
  std::vector<float> of_rows(size_t(rows * 3)), of_squares(6);
  for (const bool squares : {false, true})
    for (const bool power_of_two : {false, true}) {
      const BlockRule rule = {.power_of_two = power_of_two};
      if (squares)
        quantize_squares<bf16>(rule, {x, rows, cols}, {codes, rows, cols}, {of_squares, 2, 3});
      else
        quantize_rows<bf16>(rule, {x, rows, cols}, {codes, rows, cols}, {of_rows, rows, 3});
      for (i64 r = 0; r < rows; ++r)
        for (i64 c = 0; c < cols; ++c) {
          const size_t i = size_t(r * cols + c);
          const float inv = squares ? of_squares[size_t(r / 128 * 3 + c / 128)] : of_rows[size_t(r * 3 + c / 128)];
          ASSERT_LE(std::abs(double(E4M3::decode(codes[i])) * inv - double(x[i])), bound_of(x[i], inv))
              << r << " " << c;
          if (power_of_two) ASSERT_EQ(std::bit_cast<u32>(inv) & 0x7fffffu, 0u);
        }
    }
}

// One channel 2^12 times as large: blocks without it keep every code. With one scale for all much falls to zero.
TEST(Blocks, WithoutAnOutlierDoNotSeeIt) {
  const i64 rows = 64, cols = 384, channel = 130;
  std::vector<bf16> x(size_t(rows * cols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(normal(mix(9, i)));
  std::vector<bf16> y = x;
  for (i64 r = 0; r < rows; ++r) y[size_t(r * cols + channel)] = float(x[size_t(r * cols + channel)]) * 4096;
  const auto blocks = [&](const std::vector<bf16>& v) {
    std::vector<u8> codes(v.size());
    std::vector<float> inv(size_t(rows * 3));
    quantize_rows<bf16>({}, {v, rows, cols}, {codes, rows, cols}, {inv, rows, 3});
    return std::pair(codes, inv);
  };
  const auto [codes, inv] = blocks(x);
  const auto [beside, inv_beside] = blocks(y);
  for (i64 r = 0; r < rows; ++r) {
    for (const i64 block : {0, 2}) EXPECT_EQ(inv[size_t(r * 3 + block)], inv_beside[size_t(r * 3 + block)]);
    for (i64 c = 0; c < cols; ++c)
      if (c / kBlock != channel / kBlock)
        EXPECT_EQ(codes[size_t(r * cols + c)], beside[size_t(r * cols + c)]) << r << " " << c;
  }
  const auto zeros = [&](const std::vector<bf16>& v) {
    std::vector<u8> all(v.size());
    cast<bf16>(Fp8::e4m3, v, current_scale(amax_of<bf16>(v), 448), all);
    return std::ranges::count_if(all, [](u8 code) { return (code & 0x7f) == 0; });
  };
  EXPECT_LT(zeros(x), i64(x.size()) / 1000);
  EXPECT_GT(zeros(y), i64(x.size()) / 100);
}

TEST(Blocks, OfZerosOrOneSubnormalAreFinite) {
  std::vector<bf16> x(256);
  x[130].bits = 1;
  std::vector<u8> codes(256);
  std::vector<float> inv(2);
  quantize_rows<bf16>({}, {x, 1, 256}, {codes, 1, 256}, {inv, 1, 2});
  EXPECT_EQ(inv[0], 1.0f);
  EXPECT_EQ(inv[1], 0x1p-127f);
  EXPECT_EQ(codes[130], E4M3::encode(0x1p-6f));
}

// Where the quotient overflows the scale is the largest value of the input's type.
TEST(Blocks, ScalesOfTinyValuesAreOfTheirType) {
  const std::vector<float> wide = {1e-40f};
  const std::vector<bf16> narrow = {bf16(1e-40f)};
  u8 code = 0;
  float inv = 0;
  const BlockRule rule = {.power_of_two = false};
  quantize_rows<float>(rule, {wide, 1, 1}, {{&code, 1}, 1, 1}, {{&inv, 1}, 1, 1});
  EXPECT_EQ(inv, 1 / kF32Max);
  quantize_squares<bf16>(rule, {narrow, 1, 1}, {{&code, 1}, 1, 1}, {{&inv, 1}, 1, 1});
  EXPECT_EQ(inv, 1 / kBf16Max);
}

TEST(Mx, NothingSaturates) {
  const std::vector<bf16> x = values(16, 64);
  std::vector<u8> codes(x.size()), scales(32);
  quantize_mx<bf16>(Fp8::e4m3, {x, 16, 64}, {codes, 16, 64}, {scales, 16, 2});
  for (size_t i = 0; i < x.size(); ++i) {
    const double inv = E8M0::decode(scales[i / 32]);
    ASSERT_LE(std::abs(double(x[i])), 448 * inv);
    ASSERT_LE(std::abs(E4M3::decode(codes[i]) * inv - double(x[i])), bound_of(x[i], inv));
  }
  EXPECT_NE(error_of([&] {
              quantize_mx<bf16>(Fp8::e4m3, {x, 32, 40}, {codes, 32, 40}, {scales, 32, 1});
            }).find("40"),
            std::string::npos);
}

TEST(Cast, CountsWhatSaturates) {
  const std::vector<float> x = {
      1, -500, 448, 449, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  EXPECT_EQ(saturated<float>(Fp8::e4m3, x, 1), 3);
  EXPECT_EQ(saturated<float>(Fp8::e4m3, x, 0.5f), 1);
  EXPECT_EQ(amax_of<float>(std::span(x).first(5)), 500);
  EXPECT_EQ(amax_of<float>(std::span(x).subspan(4, 1)), 0);
  EXPECT_EQ(amax_of<float>(x), std::numeric_limits<float>::infinity());
}

TEST(Delayed, HistoriesMove) {
  std::vector<float> history(3 * 2), scale = {1, 1};
  const Out<float> slots = {history, 3, 2};
  const DelayedRule rule = {.algorithm = AmaxAlgorithm::max};
  for (const float amax : {8.0f, 2.0f, 4.0f}) update_delayed(rule, std::vector<float>{amax, 0}, slots, scale);
  EXPECT_EQ(history, (std::vector<float>{0, 0, 2, 0, 4, 0}));
  EXPECT_EQ(scale, (std::vector<float>{448 / 8.0f, 1}));  // three values were in the window
  update_delayed(rule, std::vector<float>{1, 0}, slots, scale);
  EXPECT_EQ(scale, (std::vector<float>{448 / 4.0f, 1}));  // the 8 has left
  update_delayed({.algorithm = AmaxAlgorithm::most_recent, .margin = 1}, std::vector<float>{1, 7}, slots, scale);
  EXPECT_EQ(scale, (std::vector<float>{224, 32}));
}

TEST(LossScale, HalvesAndDoubles) {
  const LossScaleRule rule = {.initial = 16, .least = 2, .window = 3, .hysteresis = 2};
  LossScale s(rule);
  s.update(rule, true);
  EXPECT_EQ(s.scale, 16);
  for (const float want : {8.0f, 4.0f, 2.0f, 2.0f}) {
    s.update(rule, true);
    EXPECT_EQ(s.scale, want);
  }
  for (int i = 0; i < 3; ++i) s.update(rule, false);
  EXPECT_EQ(s.scale, 4);
  EXPECT_EQ(s.left, 2);
  EXPECT_EQ(s.inverse(), 0.25f);
}

TEST(Nv, ComesBackWithinAStep) {
  const std::vector<bf16> x = values(32, 48);
  std::vector<u8> codes(32 * 24), scales(32 * 3);
  for (const NvBlocks blocks : {NvBlocks::rows, NvBlocks::squares}) {
    const float amax = amax_of<bf16>(x), inv = inverse(nv_factor(amax));
    quantize_nv<bf16>(blocks, {x, 32, 48}, amax, {codes, 32, 24}, {scales, 32, 3});
    for (size_t i = 0; i < x.size(); ++i) {
      const double scale = double(E4M3::decode(scales[i / 16])) * inv, value = x[i];
      const double back = E2M1::decode(codes[i / 2] >> i % 2 * 4 & 15) * scale;
      // One bit of mantissa: a quarter of the value, or of a scale; the scale's own rounding may cut 6 down by 1/16.
      ASSERT_LE(std::abs(back - value), std::max(std::abs(value), scale) * 0.26) << i;
    }
  }
  EXPECT_NE(error_of([&] { quantize_nv<bf16>(NvBlocks::rows, {x, 64, 24}, 1, {codes, 64, 12}, {scales, 64, 1}); }), "");
}

TEST(Nv, RotationsCancel) {
  std::array<double, 16> a, b;
  double plain = 0, rotated = 0;
  for (size_t i = 0; i < 16; ++i) a[i] = normal(mix(1, i)), b[i] = normal(mix(2, i)), plain += a[i] * b[i];
  rotate_16(a), rotate_16(b);
  for (size_t i = 0; i < 16; ++i) rotated += a[i] * b[i];
  EXPECT_NEAR(rotated, plain, 1e-12);
}

TEST(Nv, StochasticRoundingKeepsTheMean) {
  for (const float x : {0.1f, -0.7f, 1.4f, -2.2f, 3.9f, 5.5f, 6.0f, -0.0f, 7.0f}) {
    double sum = 0;
    const int draws = 1 << 16;
    const E2M1Neighbours n = e2m1_neighbours(x);
    for (int i = 0; i < draws; ++i) {
      const float value = E2M1::decode(encode_e2m1_stochastic(x, u32(i) << 16));  // evenly spread bits
      ASSERT_TRUE(value == n.low || value == n.high) << x;
      sum += value;
    }
    EXPECT_NEAR(sum / draws, std::min(x, 6.0f), 2.0 * 2 / draws) << x;
  }
}

TEST(ScaleOrder, TilesHoldEveryByteOnce) {
  const i64 rows = 200, blocks = 6;
  std::vector<u8> scales(size_t(rows * blocks)), tiles(size_t(tiles_bytes(rows, blocks)));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = u8(1 + i % 251);
  order_tiles({scales, rows, blocks}, tiles);
  ASSERT_EQ(tiles.size(), 256u * 8);
  EXPECT_EQ(tiles[(5 % 32) * 16 + 5 / 32 * 4 + 3], scales[5 * 6 + 3]);
  EXPECT_EQ(tiles[512 * 3 + (170 - 128) % 32 * 16 + (170 - 128) / 32 * 4 + 1], scales[170 * 6 + 5]);
  EXPECT_EQ(std::accumulate(tiles.begin(), tiles.end(), 0), std::accumulate(scales.begin(), scales.end(), 0));
}

// All terms positive: a truncated or never promoted accumulator shows as a bias.
TEST(Product, OfPositiveValuesHasNoBias) {
  const i64 k = 4096;
  Operand a = {.values = std::vector<float>(size_t(k)), .rows = 1, .k = k, .scale_inv = {0.5}, .height = 1, .width = k};
  double want = 0;
  for (i64 c = 0; c < k; ++c) {
    a.values[size_t(c)] = E4M3::decode(u32(mix(9, u64(c)) % 0x7f));
    want += 0.25 * a.values[size_t(c)] * a.values[size_t(c)];
  }
  const Product p = multiply(a, a);
  EXPECT_NEAR(p.out.at(0), want, want * 0x1p-22);
  EXPECT_NEAR(p.sums.at(0), want, want * 0x1p-22);
}

}  // namespace
}  // namespace megalith::quant
