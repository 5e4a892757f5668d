// A curve, or two, as SVG in a figure.
#pragma once
#include <string>

#include "report/metric_lines.h"

namespace megalith::report {

struct ChartSpec {
  std::string title;
  std::string unit{};
  double scale = 1;   // shown is the value times this
  bool wide = false;  // the page's width, else half of it
  bool from_zero = false;
};

struct ChartCurve {
  const MetricCurve* curve = nullptr;  // nullptr: none
  bool dots = false;                   // few points that stand apart: a dot each
  bool baseline = false;
};

// Empty if no curve has a point. Values that vary by more than a factor of 100 get a logarithmic axis, where all are
// above 0.
std::string chart(const ChartSpec& spec, const std::vector<ChartCurve>& curves);

}  // namespace megalith::report
