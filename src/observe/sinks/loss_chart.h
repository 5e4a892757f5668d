// A curve drawn with Braille characters, 2 x 4 dots each, for the end of a run in a terminal.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace megalith {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// Of the whole picture without its title and the x axis below.
struct ChartSize {
  int columns = 70;
  int rows = 15;
};

// The title, `rows` lines of curve with y labels at the top, middle and bottom, the x axis with the first and last x.
// Points that fall on one dot column are averaged, gaps are joined by straight lines, points that are not finite are
// left out; lines end in newlines. Without a finite point: the title and a line that says so.
std::string loss_chart(std::string_view title, std::span<const ChartPoint> points, ChartSize size = {});

}  // namespace megalith
