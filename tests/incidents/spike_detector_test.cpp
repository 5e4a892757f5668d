// The detector reports loss spikes, and no other values. It also reports a rank whose loss differs from the others.
#include "observe/spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "observe/rank_losses.h"

namespace megalith {
namespace {

// Adds n values with a median of 10 and a median absolute deviation of 1.
void fill(SpikeDetector& d, int n) {
  for (int i = 0; i < n; ++i) EXPECT_FALSE(d.look(9 + i % 3)) << i;
}

TEST(SpikeDetector, NeedsBothMeasures) {
  SpikeDetector d(10);
  fill(d, 30);
  EXPECT_FALSE(d.look(19.9));  // less than 10 deviations
  EXPECT_TRUE(d.look(20.1));
  EXPECT_EQ(d.usual().median, 10);
  EXPECT_EQ(d.usual().deviation, 1);

  SpikeDetector even(10);  // the deviation is 0, so only the factor of 1.5 applies
  for (int i = 0; i < 20; ++i) even.look(10);
  EXPECT_FALSE(even.look(14.9));
  EXPECT_TRUE(even.look(15.1));
}

TEST(SpikeDetector, WaitsForSixteenAndForgetsAfter128) {
  SpikeDetector early(10);
  for (int i = 0; i < 15; ++i) early.look(10);
  EXPECT_FALSE(early.look(1000));  // the 16th value
  EXPECT_TRUE(early.look(1000));

  SpikeDetector late(10);
  for (int i = 0; i < 200; ++i) late.look(10);
  EXPECT_TRUE(late.look(100));
  for (int i = 0; i < 128; ++i) late.look(100);
  EXPECT_FALSE(late.look(101));
}

TEST(SpikeDetector, TakesNoNumberThatIsNotFinite) {
  SpikeDetector d(10);
  fill(d, 30);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(d.look(std::nan("")));
  EXPECT_TRUE(d.look(25));
  SpikeDetector off(0);
  fill(off, 30);
  EXPECT_FALSE(off.look(1e9));
}

TEST(RankLosses, NameTheRankThatLeaves) {
  std::vector<std::vector<double>> history;
  for (int line = 0; line < 8; ++line) {
    const double noise = 0.01 * (line % 3);
    EXPECT_EQ(RankLosses::told({5 + noise, 5 - noise, 5.0}, history).warning, "") << line;
  }
  EXPECT_EQ(RankLosses::told({5.01, 5.0, 5.0}, history).warning, "");
  const auto told = RankLosses::told({5.0, 5.9, 5.0}, history);
  ASSERT_EQ(told.deviations.size(), 3u);
  EXPECT_EQ(told.deviations[1].data_parallel_rank, 1);
  EXPECT_GT(told.deviations[1].deviations, 6);
  EXPECT_LT(std::abs(told.deviations[2].deviations), 1);
  EXPECT_NE(told.line.find("data-parallel rank 1 5.900000E+00"), std::string::npos) << told.line;
  EXPECT_NE(told.warning.find("data-parallel rank 1: its loss"), std::string::npos) << told.warning;
  EXPECT_EQ(told.warning.find("rank 0: its loss"), std::string::npos) << told.warning;
  EXPECT_EQ(told.warning.find("rank 2: its loss"), std::string::npos) << told.warning;
}

}  // namespace
}  // namespace megalith
