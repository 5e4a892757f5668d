#include "observe/sinks/loss_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/dtype.h"

namespace megalith {

namespace {

constexpr int kLabelWidth = 9;

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  double part(double v) const { return high > low ? (v - low) / (high - low) : 0.5; }
};

bool finite(const ChartPoint& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

// The mean y of each dot column, with gaps interpolated. The first and last column have points, unless all points
// share one x.
std::vector<double> column_means(std::span<const ChartPoint> points, const Extent& x, int columns) {
  std::vector<double> sum(size_t(columns), 0), mean(size_t(columns), std::nan(""));
  std::vector<i64> count(size_t(columns), 0);
  for (const ChartPoint& p : points) {
    if (!finite(p)) continue;
    const auto c = size_t(std::lround(x.part(p.x) * (columns - 1)));
    sum[c] += p.y, ++count[c];
  }
  int last = -1;
  for (int c = 0; c < columns; ++c) {
    if (count[size_t(c)] == 0) continue;
    mean[size_t(c)] = sum[size_t(c)] / double(count[size_t(c)]);
    for (int gap = last + 1; last >= 0 && gap < c; ++gap)
      mean[size_t(gap)] = std::lerp(mean[size_t(last)], mean[size_t(c)], double(gap - last) / double(c - last));
    last = c;
  }
  return mean;
}

// Dots in cells of 2 x 4; row 0 is at the top.
class Canvas {
 public:
  Canvas(int columns, int rows) : columns_(columns), cells_(size_t(columns) * size_t(rows), 0) {}
  void set(int x, int y) {
    constexpr u8 kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[size_t(y / 4) * size_t(columns_) + size_t(x / 2)] |= kDots[y % 4][x % 2];
  }
  std::string row(int r) const {  // U+2800 + dots in UTF-8; without trailing empty cells
    std::string s;
    size_t end = 0;
    for (int c = 0; c < columns_; ++c) {
      const u8 dots = cells_[size_t(r) * size_t(columns_) + size_t(c)];
      if (dots == 0) {
        s += ' ';
        continue;
      }
      s += {char(0xe2), char(0xa0 | dots >> 6), char(0x80 | (dots & 0x3f))};
      end = s.size();
    }
    return s.substr(0, end);
  }

 private:
  int columns_;
  std::vector<u8> cells_;
};

Canvas draw(const std::vector<double>& means, const Extent& y, int rows) {
  Canvas canvas(int(means.size()) / 2, rows);
  int before = -1;
  for (int x = 0; x < int(means.size()); ++x) {
    if (std::isnan(means[size_t(x)])) continue;
    const int dot = int(std::lround((1 - y.part(means[size_t(x)])) * (rows * 4 - 1)));
    const int from = before < 0 ? dot : before + (dot > before) - (dot < before);  // a steep segment is a vertical line
    for (int d = std::min(from, dot); d <= std::max(from, dot); ++d) canvas.set(x, d);
    before = dot;
  }
  return canvas;
}

std::string x_axis(const Extent& x, int columns) {
  std::string s = std::string(kLabelWidth, ' ') + "└";
  for (int c = 0; c < columns; ++c) s += "─";
  const std::string low = fmt::format("{:.6g}", x.low), high = fmt::format("{:.6g}", x.high);
  const int gap = std::max(1, columns - int(low.size() + high.size()));
  return s + "\n" + std::string(kLabelWidth + 1, ' ') + low + std::string(size_t(gap), ' ') + high + "\n";
}

}  // namespace

std::string loss_chart(std::string_view title, std::span<const ChartPoint> points, ChartSize size) {
  const int rows = std::max(3, size.rows), columns = std::max(10, size.columns - kLabelWidth - 1);
  Extent x, y;
  for (const ChartPoint& p : points)
    if (finite(p)) x.take(p.x);
  if (x.low > x.high) return fmt::format("{}\n  (no finite values to draw)\n", title);
  const std::vector<double> means = column_means(points, x, columns * 2);
  for (double m : means)
    if (!std::isnan(m)) y.take(m);
  const Canvas canvas = draw(means, y, rows);
  std::string s = fmt::format("{}\n", title);
  for (int r = 0; r < rows; ++r) {
    const bool labelled = r == 0 || r == rows / 2 || r == rows - 1;
    const double value = std::lerp(y.high, y.low, double(r) / (rows - 1));
    s += labelled ? fmt::format("{:>{}.4g} ┤", value, kLabelWidth - 1) : std::string(kLabelWidth, ' ') + "│";
    s += canvas.row(r) + "\n";
  }
  return s + x_axis(x, columns);
}

}  // namespace megalith
