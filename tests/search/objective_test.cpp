// What a search is asked for beside the fastest layouts: the least memory, days and money that a run may take.
#include "search/objective.h"

#include <gtest/gtest.h>

#include "search/report.h"
#include "search_case.h"

namespace megalith::search {
namespace {

// Layers that weigh much more than the model's ends, so that balanced stages of two ranks are even ones.
const char* const kHeavyLayers =
    "--num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --vocab-size 1024 --swiglu --bf16 "
    "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope --global-batch-size 8 "
    "--micro-batch-size 1 --recompute-granularity full --pipeline-schedule 1f1b --context-parallel-size 1 ";

bool is_balanced(const Found& f) { return f.choice.balanced; }

}  // namespace

TEST(Objective, balanced_stages_that_are_even_ones_are_there_once) {
  const Request both{.gpus = 2, .top = 50, .wanted = parse_wanted("pp2 vpp1")};
  const Outcome free = Searcher(base_of(kHeavyLayers), small_device(80)).run(both);
  ASSERT_FALSE(free.best.empty());
  EXPECT_TRUE(std::ranges::none_of(free.best, is_balanced));
  const std::string automatic = std::string(kHeavyLayers) + "--pipeline-model-parallel-layout auto ";
  const Outcome asked = Searcher(base_of(automatic), small_device(80)).run(both);
  ASSERT_EQ(asked.best.size(), free.best.size());
  for (size_t i = 0; i < asked.best.size(); ++i) {
    EXPECT_TRUE(is_balanced(asked.best[i])) << "what the user asks for stays";
    EXPECT_EQ(asked.best[i].price.time.seconds, free.best[i].price.time.seconds);
    EXPECT_EQ(asked.best[i].price.fullest.need.total(), free.best[i].price.fullest.need.total());
  }
  const Outcome uneven =
      Searcher(base_of(std::string(kSmall) + "--micro-batch-size 1 --recompute-granularity full "), small_device(80))
          .run({.gpus = 2, .top = 50, .wanted = parse_wanted("pp2 vpp1 1f1b")});
  EXPECT_TRUE(std::ranges::any_of(uneven.best, is_balanced)) << "other balanced stages stay too";
}

TEST(Objective, the_least_memory_is_that_of_planning_every_layout) {
  Searcher searcher(base_of(std::string(kSmall) + "--context-parallel-size 1 --pipeline-schedule 1f1b "
                                                  "--use-distributed-optimizer --micro-batch-size 1 "),
                    small_device(80));
  const Request request{.gpus = 4, .top = 3, .objective = Objective::memory};
  Request every = request;
  every.brute = true;
  const Outcome found = searcher.run(request), all = searcher.run(every);
  ASSERT_FALSE(found.best.empty());
  EXPECT_LT(found.planned, all.planned);
  const auto bytes = [](const Found& f) { return f.price.fullest.need.total(); };
  EXPECT_EQ(bytes(found.best[0]), bytes(all.best[0]));
  EXPECT_TRUE(std::ranges::is_sorted(found.best, {}, bytes));
}

TEST(Objective, what_takes_longer_than_the_days_that_are_allowed_is_refused) {
  const Options base = base_of(std::string(kSmall) + "--micro-batch-size 1 ");
  Searcher searcher(base, small_device(80));
  const Outcome fastest = searcher.run({.gpus = 4, .top = 1});
  ASSERT_FALSE(fastest.best.empty());
  const double seconds = fastest.best[0].price.time.seconds;
  for (const Objective objective : {Objective::tokens_per_second, Objective::memory}) {
    const Outcome wide = searcher.run({.gpus = 4, .top = 3, .objective = objective, .most_seconds = 1.2 * seconds});
    ASSERT_FALSE(wide.best.empty());
    for (const Found& f : wide.best) EXPECT_LE(f.price.time.seconds, 1.2 * seconds) << to_string(f.choice);
    const Outcome none = searcher.run({.gpus = 4, .top = 3, .objective = objective, .most_seconds = 0.9 * seconds});
    EXPECT_TRUE(none.best.empty());
    ASSERT_TRUE(none.too_slow);
    EXPECT_GT(none.too_slow->seconds, 0.9 * seconds);
    EXPECT_TRUE(none.mistakes.empty());
  }
}

// Days and money of a row whose step takes the limit are the limit's, or a little more.
TEST(Objective, the_most_that_a_step_may_take_follows_from_days_and_money) {
  const Options base = base_of(kSmall);
  Asked asked{.gpus = 64, .tokens = 1e12, .prices = {.gpu_hour = 2}, .max_days = 12};
  const auto run = [&](double seconds) {
    const double useful = goodput(asked.prices, asked.gpus, seconds).useful;
    return cost_of(asked.prices, asked.gpus, asked.tokens, 32 * 1024 / seconds, useful);
  };
  RunCost cost = run(most_step_seconds(base, asked));
  EXPECT_GE(cost.days, 12);
  EXPECT_LE(cost.days, 12 * 1.011);
  EXPECT_FALSE(is_allowed(cost, asked));
  asked.max_cost = 10000;
  cost = run(most_step_seconds(base, asked));
  EXPECT_GE(cost.usd, 10000);
  EXPECT_LE(cost.usd, 10000 * 1.011);
  EXPECT_TRUE(is_allowed(run(0.98 * most_step_seconds(base, asked)), asked));
}

}  // namespace megalith::search
