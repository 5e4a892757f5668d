#include "exec/cuda/gemm_tuner.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace megalith::cuda {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Ways with a time in short runs and another in long ones; counts the long ones.
struct Pretended {
  std::vector<double> cold, hot;
  std::vector<int> long_runs = std::vector<int>(cold.size(), 0);
  Fastest choose(bool allow_long = true) {
    const auto time = [this](int way, double settle, double) {
      long_runs[way] += settle > 0;
      return settle > 0 ? hot[way] : cold[way];
    };
    return fastest({int(cold.size()), time, allow_long});
  }
};

TEST(GemmTuner, the_fastest_when_hot_wins) {
  Pretended p{{1.0, 1.05, 1.02}, {1.3, 1.2, 1.25}};
  EXPECT_EQ(p.choose().way, 1);
  EXPECT_EQ(p.choose().ms, 1.2);
}

TEST(GemmTuner, slow_ones_are_not_run_for_long) {
  Pretended p{{2.0, 1.0, 1.2, 1.01}, {0.1, 1.2, 0.1, 1.1}};
  EXPECT_EQ(p.choose().way, 3);
  EXPECT_EQ(p.long_runs, (std::vector<int>{0, 1, 0, 1}));
}

TEST(GemmTuner, small_products_are_compared_in_short_runs_only) {
  Pretended p{{1.0, 0.9}, {1.0, 2.0}};
  EXPECT_EQ(p.choose(false).way, 1);
  EXPECT_EQ(p.long_runs, (std::vector<int>{0, 0}));
}

TEST(GemmTuner, noise_does_not_replace_an_earlier_way) {
  Pretended p{{1.0, 0.999}, {1.0, 0.998}};
  EXPECT_EQ(p.choose().way, 0);
}

TEST(GemmTuner, ways_that_cannot_run) {
  EXPECT_EQ((Pretended{{kNever, 1.0}, {kNever, 1.0}}.choose().way), 1);
  EXPECT_EQ((Pretended{{kNever, kNever}, {kNever, kNever}}.choose().way), -1);
  EXPECT_EQ((Pretended{{}, {}}.choose().way), -1);
}

}  // namespace megalith::cuda
