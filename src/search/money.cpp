#include "search/money.h"

#include <algorithm>
#include <cmath>

namespace megalith::search {

namespace {

// Daly's interval of work between two saves. m: mean time between failures, d: stall of a save.
double interval(double d, double m) {
  if (d >= 2 * m) return m;
  const double x = d / (2 * m);
  return std::sqrt(2 * d * m) * (1 + std::sqrt(x) / 3 + x / 9) - d;
}

}  // namespace

Goodput goodput(const Prices& p, i64 gpus, double step_seconds) {
  const double m = p.gpu_mtbf_hours * 3600 / double(gpus), d = p.save_stall_seconds;
  const double restart = p.detect_seconds + p.restart_seconds;
  Goodput out;
  out.failure_hours = m / 3600;
  out.save_steps = std::max<i64>(1, i64(std::llround(std::max(interval(d, m), 0.0) / step_seconds)));
  const double t = out.save_seconds = double(out.save_steps) * step_seconds;
  // The expected time of t seconds of work is m e^(r/m) (e^((t+d)/m) - 1).
  out.useful = t / (m * std::exp(restart / m) * std::expm1((t + d) / m));
  return out;
}

RunCost cost_of(const Prices& p, i64 gpus, double tokens, double tokens_per_second, double useful) {
  const double seconds = tokens / tokens_per_second / useful, gpu_hours = seconds / 3600 * double(gpus);
  return {seconds / 86400, gpu_hours * p.gpu_hour, gpu_hours * p.watts / 1e6};
}

}  // namespace megalith::search
