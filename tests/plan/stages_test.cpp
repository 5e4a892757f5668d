// Layers shared out over stages: the balanced split against every possible one, and Megatron's rules.
#include "plan/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "tests/plan/refusal.h"

namespace megalith {

namespace {

using Counts = std::vector<i64>;

double largest(const std::vector<double>& costs, double first, double last, const Counts& counts) {
  double most = 0;
  auto at = costs.begin();
  for (size_t k = 0; k < counts.size(); ++k) {
    double sum = (k == 0 ? first : 0) + (k + 1 == counts.size() ? last : 0);
    for (i64 i = 0; i < counts[k]; ++i) sum += *at++;
    most = std::max(most, sum);
  }
  return most;
}

void every_split(i64 layers, size_t parts, Counts& counts, const std::function<void(const Counts&)>& see) {
  if (counts.size() + 1 == parts) {
    counts.push_back(layers);
    see(counts);
    counts.pop_back();
    return;
  }
  for (i64 n = 0; n <= layers; ++n) {
    counts.push_back(n);
    every_split(layers - n, parts, counts, see);
    counts.pop_back();
  }
}

}  // namespace

TEST(Stages, BalanceFindsTheLeastLargestCost) {
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> cost(0.1, 3);
  for (int trial = 0; trial < 300; ++trial) {
    const i64 layers = 1 + rng() % 9, parts = 1 + rng() % std::min<i64>(layers, 5);
    std::vector<double> costs(layers);
    for (double& c : costs) c = cost(rng);
    const double first = rng() % 2 ? cost(rng) : 0, last = rng() % 2 ? 2 * cost(rng) : 0;
    const Counts counts = balance(costs, first, last, parts);
    ASSERT_EQ(i64(counts.size()), parts);
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), i64(0)), layers);
    double least = std::numeric_limits<double>::infinity();
    Counts path;
    every_split(layers, parts, path, [&](const Counts& c) {
      for (i64 k = 0; k < parts; ++k)
        if (c[k] == 0 && !(k == 0 && first > 0) && !(k == parts - 1 && last > 0)) return;
      least = std::min(least, largest(costs, first, last, c));
    });
    ASSERT_NEAR(largest(costs, first, last, counts), least, 1e-11 * least);
  }
}

TEST(Stages, BalanceIsEvenAndFavoursLaterStages) {
  const std::vector<double> ten(10, 0.1);
  EXPECT_EQ(balance(ten, 0, 0, 4), (Counts{2, 2, 3, 3}));
  EXPECT_EQ(balance(ten, 0.1, 0.1, 4), (Counts{2, 3, 3, 2}));
  EXPECT_EQ(balance(ten, 0, 0, 1), (Counts{10}));
  EXPECT_EQ(balance(ten, 0, 0, 10), Counts(10, 1));
  EXPECT_EQ(balance(std::vector<double>(32, 1), 0.5, 2.6, 4), (Counts{8, 9, 9, 6}));
}

TEST(Stages, AHeavyEmbeddingOrHeadStandsAlone) {
  const std::vector<double> four(4, 1);
  EXPECT_EQ(balance(four, 9, 9, 4), (Counts{0, 2, 2, 0}));
  EXPECT_EQ(balance({1, 1}, 0, 9, 3), (Counts{1, 1, 0}));
  EXPECT_EQ(balance({1}, 1, 1, 3), (Counts{0, 1, 0}));
}

TEST(Stages, BalanceRefusesHostileInput) {
  EXPECT_EQ(refusal([] { balance({1, 1}, 0, 0, 3); }), "2 layers for 3 pipeline stages: take at most 2 stages");
  EXPECT_EQ(refusal([] { balance({}, 1, 1, 2); }), "0 layers for 2 pipeline stages: take at most 2 stages");
  EXPECT_EQ(refusal([] { balance({1}, 0, 0, 0); }), "layers for 0 pipeline stages: give at least 1");
  EXPECT_EQ(refusal([] { balance({1, -1}, 0, 0, 1); }), "the cost of a layer is -1: give a number of at least 0");
  EXPECT_NE(refusal([] { balance({1}, std::nan(""), 0, 1); }), "");
  EXPECT_NE(refusal([] { balance({1}, 0, std::numeric_limits<double>::infinity(), 1); }), "");
}

TEST(Stages, EvenSplits) {
  EXPECT_EQ(split_layers({.layers = 32, .stages = 4}), Counts(4, 8));
  EXPECT_EQ(split_layers({.layers = 32, .stages = 4, .chunks = 2}), Counts(8, 4));
  EXPECT_EQ(split_layers({.layers = 5}), Counts{5});
  EXPECT_EQ(chunks_of({.layers = 32, .stages = 4}, 2), 4);
  EXPECT_EQ(chunks_of({.layers = 30, .stages = 4, .embedding_counts = true, .loss_counts = true}, 4), 2);
}

TEST(Stages, FirstAndLastStagesOfTheirOwnSize) {
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .first = 6}), (Counts{6, 8, 8, 8}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .last = 6}), (Counts{8, 8, 8, 6}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .first = 8, .last = 6}), (Counts{8, 8, 8, 6}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 2, .first = 20, .last = 10}), (Counts{20, 10}));
  EXPECT_EQ(split_layers({.layers = 28, .stages = 4, .chunks = 2, .first = 4}), (Counts{2, 4, 4, 4, 2, 4, 4, 4}));
}

TEST(Stages, EmbeddingAndLossCountAsLayers) {
  EXPECT_EQ(split_layers({.layers = 31, .stages = 4, .embedding_counts = true}), (Counts{7, 8, 8, 8}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .embedding_counts = true, .loss_counts = true}),
            (Counts{7, 8, 8, 7}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .chunks = 2, .embedding_counts = true, .loss_counts = true}),
            (Counts{3, 4, 4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(split_layers({.layers = 2, .stages = 4, .embedding_counts = true, .loss_counts = true}),
            (Counts{0, 1, 1, 0}));
  EXPECT_EQ(split_layers({.layers = 3, .embedding_counts = true, .loss_counts = true}), (Counts{3}));
}

TEST(Stages, RefusesSharesThatAreNotWhole) {
  auto why = [](const LayerSplit& s) { return refusal([&] { split_layers(s); }); };
  EXPECT_NE(why({.layers = 30, .stages = 4}).find("30 layers do not divide by 4 pipeline stages"), std::string::npos);
  EXPECT_NE(why({.layers = 32, .stages = 4, .loss_counts = true}).find("33 layers (embedding and loss counted)"),
            std::string::npos);
  EXPECT_NE(why({.layers = 32, .stages = 4, .chunks = 3}).find("do not divide by 3 virtual stages"), std::string::npos);
  EXPECT_NE(why({.layers = 30, .stages = 4, .first = 7}).find("23 of 30 layers are left for the 3"), std::string::npos);
  EXPECT_NE(why({.layers = 30, .stages = 2, .first = 20, .last = 9}), "");
  EXPECT_NE(why({.layers = 4, .stages = 4, .first = 4}), "") << "stages without layers";
  EXPECT_NE(why({.layers = 4, .stages = 4, .first = 7}), "");
  EXPECT_NE(why({.layers = 4, .stages = 1, .first = 4}), "");
  EXPECT_NE(why({.layers = 4, .stages = 2, .first = 0}), "");
  EXPECT_NE(why({.layers = 30, .stages = 4, .first = 6, .loss_counts = true}).find("take one way"), std::string::npos);
  EXPECT_NE(why({.layers = 0, .stages = 2}), "");
  EXPECT_NE(why({.layers = 4, .stages = 0}), "");
  EXPECT_EQ(refusal([] { chunks_of({.layers = 32, .stages = 4}, 3); }),
            "the 8 layers of a pipeline stage do not divide by 3 a virtual stage: take a divisor of 8");
  EXPECT_NE(refusal([] { chunks_of({.layers = 32, .stages = 4}, 0); }), "");
  EXPECT_NE(refusal([] { chunks_of({.layers = 30, .stages = 4, .first = 6}, 2); }), "");
}

}  // namespace megalith
