#include "exec/cuda/gemm_tuner.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace megalith::cuda {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Ways with their cycles and the clocks that they sustain; counts the long runs.
struct Pretended {
  std::vector<double> cycles, mhz;
  std::vector<int> long_runs = std::vector<int>(cycles.size(), 0);
  SustainedClocks clocks = {};

  Fastest choose(bool hot = true) {
    std::vector<std::string> names;
    for (size_t i = 0; i < cycles.size(); ++i) names.push_back(std::string(1, char('a' + i)));
    const auto measure = [this](int way, double settle, double) {
      long_runs[way] += settle > 0;
      return Sample{cycles[way], settle > 0 ? mhz[way] : 1900.0};
    };
    return fastest({names, measure, hot}, clocks);
  }
};

TEST(GemmTuner, cycles_over_the_sustained_clock_decide) {
  Pretended p{{1.00e6, 1.05e6, 1.03e6}, {1200, 1350, 1250}};
  EXPECT_EQ(p.choose().way, 1);
  EXPECT_DOUBLE_EQ(p.choose().ms, 1.05e6 / 1350 / 1e3);
}

TEST(GemmTuner, the_fewest_cycles_decide_where_power_does_not_matter) {
  Pretended p{{1.05e6, 1.00e6}, {1350, 1200}};
  EXPECT_EQ(p.choose(false).way, 1);
  EXPECT_DOUBLE_EQ(p.choose(false).ms, 1.00e6 / 1900 / 1e3);
  EXPECT_EQ(p.long_runs, (std::vector<int>{0, 0}));
}

TEST(GemmTuner, slow_ones_are_not_run_for_long) {
  Pretended p{{2e6, 1e6, 1.2e6, 1.01e6}, {9999, 1200, 9999, 1300}};
  EXPECT_EQ(p.choose().way, 3);
  EXPECT_EQ(p.long_runs, (std::vector<int>{0, 1, 0, 1}));
}

TEST(GemmTuner, clocks_are_shared_by_problems) {
  Pretended p{{1e6, 1e6}, {1200, 1300}};
  for (int problem = 0; problem < 5; ++problem) EXPECT_EQ(p.choose().way, 1);
  EXPECT_EQ(p.long_runs, (std::vector<int>{2, 2}));
  EXPECT_DOUBLE_EQ(p.clocks.at("b").mhz, 1300);
}

TEST(GemmTuner, noise_does_not_replace_an_earlier_way) {
  Pretended p{{1e6, 0.999e6}, {1300, 1301}};
  EXPECT_EQ(p.choose().way, 0);
}

TEST(GemmTuner, ways_that_cannot_run) {
  EXPECT_EQ((Pretended{{kNever, 1e6}, {0, 1300}}.choose().way), 1);
  EXPECT_EQ((Pretended{{kNever, kNever}, {0, 0}}.choose().way), -1);
  EXPECT_EQ((Pretended{{}, {}}.choose().way), -1);
}

}  // namespace megalith::cuda
