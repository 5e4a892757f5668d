// The report's drawings, as SVG.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "exec/sim/pipeline.h"

namespace megalith::search {

struct Point {
  double x = 0, y = 0;
  std::string label{};
};
// Points on the Pareto front (no other point is both left of and below them) are filled.
std::string scatter(const std::vector<Point>& points, const std::string& x_label, const std::string& y_label);

struct Bar {
  std::string label{};
  std::map<std::string, double> parts{};
};
std::string stacked(const std::vector<Bar>& bars);

// A row for each stage. Of long steps it shows the first tasks.
std::string tasks_in_time(const sim::PipelineRun& run);

}  // namespace megalith::search
