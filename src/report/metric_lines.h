// The numbers of a metrics file, as curves over iterations. Anything may be in the file: what is no metrics line is
// passed over and counted.
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
  std::string name;                  // of the member: "lm_loss"
  std::vector<CurvePoint> points{};  // by rising iteration, one for each
};

struct MetricLines {
  std::vector<MetricCurve> curves{};  // in the order of their first lines
  i64 lines = 0;                      // that are metrics lines
  i64 passed_over = 0;                // others that are not empty

  const MetricCurve* find(const std::string& name) const;  // nullptr: there is none
  i64 last_iteration() const;                              // 0: none
};

// Error if the file cannot be read.
MetricLines read_metric_lines(const std::string& path);

}  // namespace megalith::report
