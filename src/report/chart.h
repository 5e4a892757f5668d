// One or two curves as SVG in a figure.
#pragma once
#include <string>
#include <vector>

#include "report/metric_lines.h"

namespace megalith::report {

struct ChartSpec {
  std::string title;
  std::string unit{};
  double scale = 1;   // factor of the shown values
  bool wide = false;  // the width of the page, or half of it
  bool from_zero = false;
  bool is_speed = false;       // a slow first iteration must not hide the others: the axis may be logarithmic
  std::vector<i64> resumes{};  // iterations from which later starts continued: a dashed line each
};

struct ChartCurve {
  const MetricCurve* curve = nullptr;  // nullptr: none
  bool dots = false;                   // draws each point as a dot, for a few separate points
  bool baseline = false;
};

// Empty if no curve has a point. The axis is logarithmic if all values are above 0 and vary by more than a factor of
// 100. That excludes charts from zero, except speeds.
std::string chart(const ChartSpec& spec, const std::vector<ChartCurve>& curves);

}  // namespace megalith::report
