#include "observe/sinks/loss_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

namespace megalith {

static std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
static int width(const std::string& s) {
  int n = 0;
  for (char c : s) n += (c & 0xc0) != 0x80;
  return n;
}

// A chart of 10 x 3 cells has 20 x 12 dots. The point of dot column i is in dot row round(11 i / 19). The dots of the
// expected cells were computed by hand from that.
TEST(LossChart, draws_a_falling_line) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 20; ++i) points.push_back({double(i + 1), 11 - double(i) * 10 / 19});
  EXPECT_EQ(loss_chart("lm loss", points, {.columns = 20, .rows = 3}),
            "lm loss\n"
            "      11 ┤⠑⠢⢄⡀\n"
            "       6 ┤   ⠈⠒⠤⡀\n"
            "       1 ┤      ⠈⠑⠢⢄\n"
            "         └──────────\n"
            "          1       20\n");
}

TEST(LossChart, has_its_size) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), 3 + 7 * std::exp(-i / 100.0)});
  const auto lines = lines_of(loss_chart("t", points));
  ASSERT_EQ(lines.size(), 18u);
  for (const auto& line : lines) EXPECT_LE(width(line), 70);
  EXPECT_EQ(width(lines[15]), 70);  // the curve is flat up to the last column
}

TEST(LossChart, joins_gaps_and_steep_pieces) {
  const std::vector<ChartPoint> points{{0, 0}, {1, 1}};
  const auto lines = lines_of(loss_chart("t", points, {.columns = 20, .rows = 5}));
  for (int r = 1; r <= 5; ++r) EXPECT_GT(width(lines[size_t(r)]), 10) << lines[size_t(r)];  // every row has a dot
}

TEST(LossChart, leaves_out_what_is_not_finite) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<ChartPoint> points{{1, 2}, {2, nan}, {3, inf}, {nan, 7}, {4, 1}};
  const std::vector<ChartPoint> clean{{1, 2}, {4, 1}};
  EXPECT_EQ(loss_chart("t", points), loss_chart("t", clean));
}

TEST(LossChart, takes_few_and_equal_points) {
  EXPECT_EQ(loss_chart("t", {}), "t\n  (no finite values to draw)\n");
  const std::vector<ChartPoint> one{{5, 2}}, flat{{1, 3}, {2, 3}, {3, 3}};
  EXPECT_EQ(lines_of(loss_chart("t", one)).size(), 18u);
  EXPECT_EQ(lines_of(loss_chart("t", flat, {.columns = 0, .rows = -1})).size(), 6u);
}

}  // namespace megalith
