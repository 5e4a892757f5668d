// Layers shared out over stages by cost: the balanced split against every possible one.
#include "plan/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "tests/plan/refusal.h"

namespace megalith {

namespace {

using Counts = std::vector<i64>;

std::vector<double> costs_of(const std::vector<double>& layers, double first, double last, const Counts& counts) {
  std::vector<double> parts;
  auto at = layers.begin();
  for (i64 n : counts) parts.push_back(std::accumulate(at, at + n, 0.0)), at += n;
  parts.front() += first, parts.back() += last;
  return parts;
}

// In the order in which the better of equal splits comes first.
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

Counts best_of_all(const std::vector<double>& layers, double first, double last, i64 parts) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto clearly_less = [](double a, double b) { return a < b * (1 - 1e-11); };
  double largest = kNever, squares = kNever;
  Counts best, path;
  every_split(i64(layers.size()), size_t(parts), path, [&](const Counts& counts) {
    for (i64 k = 0; k < parts; ++k)
      if (counts[k] == 0 && !(k == 0 && first > 0) && !(k == parts - 1 && last > 0)) return;
    const std::vector<double> costs = costs_of(layers, first, last, counts);
    const double most = *std::ranges::max_element(costs);
    const double sum = std::inner_product(costs.begin(), costs.end(), costs.begin(), 0.0);
    if (clearly_less(largest, most) || (!clearly_less(most, largest) && !clearly_less(sum, squares))) return;
    largest = most, squares = sum, best = counts;
  });
  return best;
}

}  // namespace

// Whole costs have many equal splits, costs of 0 and of 0.1 too; those of the third kind have none.
TEST(Balance, FindsTheBestOfAllSplits) {
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> real(0.1, 3);
  for (int trial = 0; trial < 1500; ++trial) {
    const int kind = trial % 3;
    const auto cost = [&] { return kind == 0 ? double(rng() % 4) : kind == 1 ? 0.1 : real(rng); };
    std::vector<double> layers(1 + rng() % 9);
    for (double& c : layers) c = cost();
    const double first = rng() % 2 ? cost() : 0, last = rng() % 2 ? 3 * cost() : 0;
    const i64 parts = 1 + i64(rng() % std::min<size_t>(layers.size(), 5));
    ASSERT_EQ(balance(layers, first, last, parts), best_of_all(layers, first, last, parts)) << "trial " << trial;
  }
}

TEST(Balance, IsEvenAndFavoursLaterStages) {
  const std::vector<double> ten(10, 0.1);
  EXPECT_EQ(balance(ten, 0, 0, 4), (Counts{2, 2, 3, 3}));
  EXPECT_EQ(balance(ten, 0.1, 0.1, 4), (Counts{2, 3, 3, 2}));
  EXPECT_EQ(balance(ten, 0, 0, 1), (Counts{10}));
  EXPECT_EQ(balance(ten, 0, 0, 10), Counts(10, 1));
  EXPECT_EQ(balance(std::vector<double>(32, 1), 0.5, 2.6, 4), (Counts{8, 9, 9, 6}));
}

TEST(Balance, AHeavyEmbeddingOrHeadStandsAlone) {
  const std::vector<double> four(4, 1);
  EXPECT_EQ(balance(four, 9, 9, 4), (Counts{0, 2, 2, 0}));
  EXPECT_EQ(balance({1, 1}, 0, 9, 3), (Counts{1, 1, 0}));
  EXPECT_EQ(balance({1}, 1, 1, 3), (Counts{0, 1, 0}));
}

// The heavy head leaves all other parts free to end anywhere: the most that there can be to search. By trying all ends
// of all parts it takes minutes.
TEST(Balance, IsQuickForManyLayers) {
  const std::clock_t began = std::clock();  // of this process: other processes may run too
  const Counts counts = balance(std::vector<double>(100'000, 0.3), 0, 4e4, 17);
  EXPECT_LT(double(std::clock() - began) / CLOCKS_PER_SEC, 10);
  Counts even(17, 6250);
  even.back() = 0;
  EXPECT_EQ(counts, even);
}

TEST(Balance, RefusesHostileInput) {
  EXPECT_EQ(refusal([] { balance({1, 1}, 0, 0, 3); }), "2 layers for 3 pipeline stages: take at most 2 stages");
  EXPECT_EQ(refusal([] { balance({}, 1, 1, 2); }), "0 layers for 2 pipeline stages: take at most 2 stages");
  EXPECT_EQ(refusal([] { balance({1}, 0, 0, 0); }), "layers for 0 pipeline stages: give at least 1");
  EXPECT_EQ(refusal([] { balance({1, -1}, 0, 0, 1); }), "the cost of a layer is -1: give a number of at least 0");
  EXPECT_NE(refusal([] { balance({1}, std::nan(""), 0, 1); }), "");
  EXPECT_NE(refusal([] { balance({1}, 0, std::numeric_limits<double>::infinity(), 1); }), "");
}

}  // namespace megalith
