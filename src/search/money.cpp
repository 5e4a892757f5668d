#include "search/money.h"

#include <cmath>

#include "resume/save_spacing.h"

namespace megalith::search {

Goodput goodput(const Prices& p, i64 gpus, double step_seconds) {
  const double m = p.gpu_mtbf_hours * 3600 / double(gpus), d = p.save_stall_seconds;
  const double restart = p.detect_seconds + p.restart_seconds;
  Goodput out;
  out.failure_hours = m / 3600;
  out.save_steps = save_spacing_steps(d, m, step_seconds);
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
