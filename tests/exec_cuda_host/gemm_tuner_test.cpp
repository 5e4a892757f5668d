#include "exec/cuda/products/gemm_tuner.h"

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
  std::vector<int> guessed_tiles = {};
  std::function<bool(int)> agrees = {};
  double first_look = 1;  // times the clock, in a way's first long run

  Fastest choose(bool hot = true) {
    std::vector<std::string> names;
    for (size_t i = 0; i < cycles.size(); ++i) names.push_back(std::string(1, char('a' + i)));
    const auto measure = [this](int way, double settle, double) {
      if (settle == 0) return Sample{cycles[way], 1900};
      return Sample{cycles[way], mhz[way] * (long_runs[way]++ == 0 && way > 0 ? first_look : 1)};
    };
    return fastest({names, measure, hot, guessed_tiles, agrees}, clocks);
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

// One look at a clock tells it within 1.5%.
TEST(GemmTuner, close_ones_are_run_in_turns) {
  Pretended p{{1e6, 1e6, 1e6}, {1300, 1311, 1200}};
  p.first_look = 0.985;
  EXPECT_EQ(p.choose().way, 1);
  EXPECT_DOUBLE_EQ(p.choose().ms, 1e6 / 1311 / 1e3);
  EXPECT_GT(p.long_runs[0], 4);
  EXPECT_EQ(p.long_runs[0], p.long_runs[1]);
  EXPECT_EQ(p.long_runs[2], 2) << "far behind";
}

TEST(GemmTuner, at_most_three_are_run_in_turns) {
  Pretended p{{1e6, 1e6, 1e6, 1e6}, {1300, 1301, 1302, 1303}};
  EXPECT_EQ(p.choose().way, 1) << "by less than noise";
  EXPECT_EQ(p.long_runs, (std::vector<int>{1, 5, 5, 5}));
}

TEST(GemmTuner, ways_that_cannot_run) {
  EXPECT_EQ((Pretended{{kNever, 1e6}, {0, 1300}}.choose().way), 1);
  EXPECT_EQ((Pretended{{kNever, kNever}, {0, 0}}.choose().way), -1);
  EXPECT_EQ((Pretended{{}, {}}.choose().way), -1);
}

TEST(GemmTuner, a_guess_wins_by_its_time) {
  Pretended p{{1.05e6, 1.00e6}, {1300, 1290}};
  p.guessed_tiles = {7};
  EXPECT_EQ(p.choose().way, 1);
  Pretended q{{1.05e6, 1.00e6}, {1300, 1200}};
  q.guessed_tiles = {7};
  EXPECT_EQ(q.choose().way, 0) << "fewer cycles, but a clock that costs more";
}

TEST(GemmTuner, of_guesses_only_the_best_of_each_of_two_tiles_are_run_for_long) {
  Pretended p{{1.00e6, 1.02e6, 0.97e6, 0.96e6, 0.95e6, 0.98e6, 0.995e6}, {1300, 1300, 1300, 1300, 1300, 1300, 1300}};
  p.guessed_tiles = {7, 8, 8, 9, 10};
  EXPECT_EQ(p.choose().way, 4);
  EXPECT_EQ(p.long_runs, (std::vector<int>{1, 1, 1, 0, 1, 0, 0}));
}

TEST(GemmTuner, a_guess_that_is_hardly_better_is_not_run_for_long) {
  Pretended p{{1.00e6, 0.995e6}, {1200, 1300}};
  p.guessed_tiles = {7};
  EXPECT_EQ(p.choose().way, 0);
  EXPECT_EQ(p.long_runs, (std::vector<int>{1, 0}));
}

TEST(GemmTuner, a_guess_that_computes_something_else_never_wins) {
  Pretended p{{1.00e6, 1.02e6, 0.5e6, 0.9e6}, {1300, 1300, 1300, 1300}};
  p.guessed_tiles = {7, 8};
  std::vector<int> asked;
  p.agrees = [&](int way) { return asked.push_back(way), way != 2; };
  EXPECT_EQ(p.choose().way, 3);
  EXPECT_EQ(asked, (std::vector<int>{2, 3}));
  p.agrees = [](int) { return false; };
  EXPECT_EQ(p.choose().way, 0) << "nor does it make suggested ones look slow";
}

TEST(GemmTuner, guesses_that_cannot_run) {
  Pretended p{{1e6, kNever}, {1300, 0}};
  p.guessed_tiles = {7};
  EXPECT_EQ(p.choose().way, 0);
  Pretended q{{kNever, 1e6}, {0, 1300}};
  q.guessed_tiles = {7};
  EXPECT_EQ(q.choose().way, 1) << "of no suggested one";
}

}  // namespace megalith::cuda
