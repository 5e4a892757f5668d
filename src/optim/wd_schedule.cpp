#include "optim/wd_schedule.h"

#include <cmath>
#include <numbers>

namespace megalith {

double WdSchedule::at(i64 samples) const {
  const double n = double(samples);
  if (style == WdIncrease::constant || n > total_samples) return end;
  const double ratio = n / total_samples;
  const double coefficient = style == WdIncrease::linear ? ratio : 0.5 * (std::cos(std::numbers::pi * (1 - ratio)) + 1);
  return start + coefficient * (end - start);
}

WdSchedule make_wd_schedule(const WdFlags& f, double total_samples) {
  if (f.style == WdIncrease::constant) {
    check(!f.start && !f.end,
          "--start-weight-decay and --end-weight-decay go with --weight-decay-incr-style linear or cosine: leave them "
          "out, or give "
          "the style");
    check(std::isfinite(f.weight_decay) && f.weight_decay >= 0,
          "--weight-decay is {}: give a number that is not negative", f.weight_decay);
    return {.style = f.style, .start = f.weight_decay, .end = f.weight_decay, .total_samples = total_samples};
  }
  check(f.start && f.end,
        "--weight-decay-incr-style linear and cosine need both --start-weight-decay and --end-weight-decay");
  check(*f.start >= 0 && std::isfinite(*f.end) && *f.end >= *f.start,
        "weight decay goes from --start-weight-decay {} to --end-weight-decay {}: give 0 <= start <= end", *f.start,
        *f.end);
  check(total_samples > 0, "weight decay rises over {} samples: give the run a length above 0", total_samples);
  return {.style = f.style, .start = *f.start, .end = *f.end, .total_samples = total_samples};
}

}  // namespace megalith
