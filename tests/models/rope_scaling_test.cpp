// Frequencies and amplitudes of longer rope against transformers 5.24:
// ROPE_INIT_FUNCTIONS[type](LlamaConfig(head_dim=16, max_position_embeddings=64, rope_parameters=...), "cpu", seq_len),
// in float32.
#include <gtest/gtest.h>

#include "models/rope_config.h"
#include "ops/rope.h"

namespace megalith {

namespace {

using Kind = RopeScaling::Kind;

constexpr i64 kMostPositions = 64;

void expect(const RopeScaling& scaling, i64 length, double amplitude, const std::vector<double>& frequencies) {
  RopeFrequencies f{.dims = 16, .scaling = scaling, .length = length};
  resolve(f.scaling, false, kMostPositions);
  SCOPED_TRACE(f.scaling.text());
  EXPECT_NEAR(f.amplitude(), amplitude, 1e-14);
  const std::vector<double> got = f.inverse();
  ASSERT_EQ(got.size(), frequencies.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], frequencies[i], 3e-7 * frequencies[i]) << i;
}

}  // namespace

TEST(RopeScaling, yarn) {
  RopeScaling s{.kind = Kind::yarn, .factor = 4, .original_length = 16};
  expect(s, 20, 1.138629436111989,
         {1, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012, 7.90569466e-05});
  s.original_length = 4096, s.attention_factor = 1.25;
  expect(s, 20, 1.25,
         {1, 0.316227764, 0.100000001, 0.025693506, 0.00624999963, 0.00138349656, 0.000250000012, 7.90569466e-05});
  s = {.kind = Kind::yarn, .factor = 40, .original_length = 64, .beta_fast = 8, .beta_slow = 2, .whole_ends = false};
  s.mscale = 0.707, s.mscale_all_dim = 0.5;
  expect(
      s, 20, 1.064468903941252,
      {1, 0.113897562, 0.00249999994, 0.000790569466, 0.000250000012, 7.90569466e-05, 2.49999994e-05, 7.90569447e-06});
}

TEST(RopeScaling, dynamic) {
  const RopeScaling s{.kind = Kind::dynamic, .factor = 2};
  expect(s, 60, 1,
         {1, 0.316227764, 0.100000001, 0.0316227786, 0.00999999978, 0.00316227786, 0.00100000005, 0.000316227786});
  expect(s, 100, 1,
         {1, 0.283945143, 0.0806248412, 0.0228930302, 0.00650036521, 0.001845747, 0.000524090894, 0.000148813066});
}

TEST(RopeScaling, longrope) {
  RopeScaling s{.kind = Kind::longrope, .original_length = 32};
  s.short_factors = {1, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}, s.long_factors = {1, 1.5, 2, 3, 4, 6, 8, 12};
  expect(s, 32, 1.0954451150103321,
         {1, 0.301169306, 0.0909090936, 0.0263523124, 0.0076923077, 0.00225876993, 0.00066666666, 0.000197642366});
  s.factor = 4;
  expect(s, 33, 1.1832159566199232,
         {1, 0.210818499, 0.0500000007, 0.010540925, 0.00249999994, 0.00052704633, 0.000125000006, 2.63523143e-05});
  s.long_factors.pop_back();
  RopeFrequencies f{.dims = 16, .scaling = s, .length = 33};
  EXPECT_THROW(f.inverse(), Error);
}

TEST(RopeScaling, what_is_left_open_goes_by_the_kind) {
  RopeScaling none, llama3{.kind = Kind::llama3}, yarn{.kind = Kind::yarn}, latent{.factor = 40};
  resolve(none, false, 100), resolve(llama3, false, 100), resolve(yarn, false, 100), resolve(latent, true, 100);
  EXPECT_EQ(none.kind, Kind::none);
  EXPECT_EQ(llama3.factor, 8);
  EXPECT_EQ(llama3.original_length, 8192);
  EXPECT_EQ(yarn.factor, 1);
  EXPECT_EQ(latent.kind, Kind::yarn);
  EXPECT_EQ(latent.original_length, 4096);
  EXPECT_EQ(latent.score_factor(), 1);  // mscale_all_dim 0
  latent.mscale_all_dim = 1;
  EXPECT_NEAR(latent.score_factor(), std::pow(0.1 * std::log(40.0) + 1, 2), 1e-14);
}

}  // namespace megalith
