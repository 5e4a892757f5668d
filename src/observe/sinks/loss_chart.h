// A curve of Braille characters, with 2 x 4 dots each, for the end of a run in a terminal.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace megalith {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// Size of the picture without its title and x axis.
struct ChartSize {
  int columns = 70;
  int rows = 15;
};

// The title, `rows` lines of curve, and the x axis. y labels are at the top, middle and bottom, x labels at the first
// and last x. Points in the same dot column are averaged, gaps are joined by straight lines, and non-finite points are
// skipped. Lines end with newlines. If there is no finite point: the title and a line that says so.
std::string loss_chart(std::string_view title, std::span<const ChartPoint> points, ChartSize size = {});

}  // namespace megalith
