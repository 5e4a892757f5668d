#include "generate/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace megalith {

constexpr float kBanned = -std::numeric_limits<float>::infinity();
constexpr int kDraws = 20000;

// Probabilities 1/2, 1/4, 1/8, 1/8, in the order 2, 0, 3, 1.
static std::vector<float> logits() { return {std::log(2.0f), 0, std::log(4.0f), 0}; }

static std::vector<double> shares(const std::vector<float>& l, const SamplingOptions& o) {
  std::vector<int> times(l.size(), 0);
  for (int i = 0; i < kDraws; ++i) ++times[size_t(sample_token(l, o, u64(i)))];
  std::vector<double> share;
  for (int n : times) share.push_back(double(n) / kDraws);
  return share;
}

// Five standard deviations of a share at its worst, p = 1/2.
static const double kSpread = 5 * 0.5 / std::sqrt(double(kDraws));

TEST(Sampling, greedy_takes_the_first_of_the_largest) {
  EXPECT_EQ(sample_token(logits(), {.temperature = 0}, 9), 2);
  EXPECT_EQ(sample_token(logits(), {.top_k = 1}, 9), 2);
  EXPECT_EQ(sample_token(std::vector<float>{1, 3, 3}, {.temperature = 0}, 0), 1);
  EXPECT_EQ(sample_token(std::vector<float>{-7}, {}, 0), 0);
}

TEST(Sampling, draws_by_probability) {
  const auto share = shares(logits(), {});
  const double want[] = {0.25, 0.125, 0.5, 0.125};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(share[i], want[i], kSpread) << i;
}

TEST(Sampling, temperature_sharpens_and_flattens) {
  EXPECT_NEAR(shares(logits(), {.temperature = 0.5})[2], 16.0 / 22, kSpread);  // squares: 4, 1, 16, 1
  EXPECT_NEAR(shares(logits(), {.temperature = 1e6})[1], 0.25, kSpread);
  EXPECT_EQ(shares(logits(), {.temperature = 1e-300})[2], 1);
}

TEST(Sampling, top_k_keeps_k_and_ties_by_id) {
  const auto share = shares(logits(), {.top_k = 3});
  EXPECT_EQ(share[3], 0);
  EXPECT_NEAR(share[2], 4.0 / 7, kSpread);
  EXPECT_NEAR(share[1], 1.0 / 7, kSpread);
  EXPECT_EQ(shares(logits(), {.top_k = 100}), shares(logits(), {}));
}

TEST(Sampling, top_p_keeps_the_token_that_reaches_p) {
  EXPECT_EQ(shares(logits(), {.top_p = 0.5})[2], 1);
  const auto two = shares(logits(), {.top_p = 0.51});
  EXPECT_NEAR(two[2], 2.0 / 3, kSpread);
  EXPECT_NEAR(two[0], 1.0 / 3, kSpread);
  EXPECT_EQ(shares({0, 0}, {.top_p = 0.5})[0], 1);  // reached exactly
  EXPECT_EQ(shares(logits(), {.top_p = 0.8})[3], 0);
  EXPECT_EQ(shares(logits(), {.top_p = 1}), shares(logits(), {}));
  EXPECT_EQ(shares(logits(), {.top_p = 1e-9})[2], 1);
}

TEST(Sampling, top_p_counts_after_top_k) {
  const auto share = shares(logits(), {.top_k = 2, .top_p = 0.66});  // of 2/3 and 1/3
  EXPECT_EQ(share[2], 1);
  EXPECT_NEAR(shares(logits(), {.top_k = 2, .top_p = 0.67})[0], 1.0 / 3, kSpread);
}

TEST(Sampling, is_a_function_of_seed_and_position) {
  std::set<i64> seen;
  const std::vector<float> flat(1000, 0);
  for (u64 p = 0; p < 100; ++p) {
    EXPECT_EQ(sample_token(flat, {.seed = 3}, p), sample_token(flat, {.seed = 3}, p));
    seen.insert(sample_token(flat, {.seed = 3}, p));
  }
  EXPECT_GT(seen.size(), 80u);
  EXPECT_NE(sample_token(flat, {.seed = 3}, 0), sample_token(flat, {.seed = 4}, 0));
}

TEST(Sampling, never_draws_a_banned_token) {
  const auto share = shares({kBanned, 1, kBanned, 1}, {.top_k = 4, .top_p = 0.999});
  EXPECT_EQ(share[0] + share[2], 0);
}

TEST(Sampling, refuses_bad_values) {
  const auto error = [](const std::vector<float>& l, const SamplingOptions& o) -> std::string {
    try {
      sample_token(l, o, 0);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error({1}, {.temperature = -1}), "--temperature is -1: give 0 (greedy) or a number above");
  EXPECT_NE(error({1}, {.temperature = NAN}).find("--temperature is nan"), std::string::npos);
  EXPECT_NE(error({1}, {.top_k = -2}).find("--top-k is -2"), std::string::npos);
  EXPECT_NE(error({1}, {.top_p = 1.5}).find("--top-p is 1.5"), std::string::npos);
  EXPECT_NE(error({1, NAN}, {.temperature = 0}).find("logit of token 1 is nan"), std::string::npos);
  EXPECT_NE(error({INFINITY}, {}).find("logit of token 0 is inf"), std::string::npos);
  EXPECT_NE(error({kBanned, kBanned}, {}).find("all 2 logits"), std::string::npos);
  EXPECT_NE(error({}, {}).find("vocabulary is empty"), std::string::npos);
}

}  // namespace megalith
