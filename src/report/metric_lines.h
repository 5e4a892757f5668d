// Reads a metrics file as curves over iterations. The file may have any content: other lines are counted and ignored.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::report {

struct CurvePoint {
  i64 iteration = 0;
  double value = 0;  // may be NaN or infinite
};

struct MetricCurve {
  std::string name;                  // name of the member: "lm_loss"
  std::vector<CurvePoint> points{};  // sorted by iteration, one value each
};

// Of training, of validation or of a term. The loss scale and the number of loss spikes are not losses.
bool is_loss(const std::string& name);

struct MetricLines {
  std::vector<MetricCurve> curves{};  // in the order of their first line
  i64 lines = 0;                      // number of metrics lines
  i64 passed_over = 0;                // number of other non-empty lines

  const MetricCurve* find(const std::string& name) const;  // nullptr: no such curve
  i64 last_iteration() const;                              // 0: none
};

// Error if the file cannot be read.
MetricLines read_metric_lines(const std::string& path);

}  // namespace megalith::report
