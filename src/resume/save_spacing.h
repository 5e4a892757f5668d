// The cheapest interval between saves if a failure loses the work since the last save: Daly's formula (A higher order
// estimate of the optimum checkpoint interval for restart dumps, FGCS 2006).
#pragma once
#include <algorithm>
#include <cmath>

#include "base/dtype.h"

namespace megalith {

// Seconds of work between two saves. `stall`: how long a save stops the work; `between_failures`: mean time between
// failures.
inline double save_spacing(double stall, double between_failures) {
  if (stall >= 2 * between_failures) return between_failures;
  const double x = stall / (2 * between_failures);
  return std::sqrt(2 * stall * between_failures) * (1 + std::sqrt(x) / 3 + x / 9) - stall;
}

// The same in steps, at least one.
inline i64 save_spacing_steps(double stall, double between_failures, double step_seconds) {
  constexpr double kMost = 1e9;
  const double steps = std::max(save_spacing(stall, between_failures), 0.0) / std::max(step_seconds, 1e-9);
  return std::max<i64>(1, std::llround(std::min(steps, kMost)));
}

}  // namespace megalith
