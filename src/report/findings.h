// Finds problems in a run's metrics.
#pragma once
#include <string>
#include <vector>

#include "report/run_files.h"

namespace megalith::report {

struct Finding {
  std::string what, where;
};
// The conditions of the alert rules, as far as metrics lines show them: slower iterations, large gradients, fewer
// TFLOP/s, skipped steps, non-finite losses, time without training.
std::vector<Finding> findings(const RunFiles& run);

struct SlowIteration {
  i64 iteration;
  double ms, neighbours;  // median of the surrounding lines
  i64 before = 0;         // iteration of the previous line; 0: this is the first line
};
// More than 10% slower than the surrounding lines, slowest first.
std::vector<SlowIteration> slow_iterations(const MetricCurve* iteration_ms);

}  // namespace megalith::report
