// What a run's numbers show that somebody should look at.
#pragma once
#include <string>
#include <vector>

#include "report/run_files.h"

namespace megalith::report {

struct Finding {
  std::string what, where;
};
// What alert rules would have told, as far as metrics lines can say: slower iterations, large gradients, fewer TFLOP/s,
// steps that did not count, losses that are not finite, time that was not training.
std::vector<Finding> findings(const RunFiles& run);

struct SlowIteration {
  i64 iteration;
  double ms, neighbours;  // the middle value of those around it
};
// More than 10% slower than their neighbours, the worst first.
std::vector<SlowIteration> slow_iterations(const MetricCurve* iteration_ms);

}  // namespace megalith::report
