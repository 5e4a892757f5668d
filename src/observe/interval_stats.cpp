#include "observe/interval_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace megalith {

void IntervalStats::add(std::span<const NamedValue> losses, bool skipped) {
  ++(skipped ? sums_.skipped : sums_.advanced);
  bool finite = true;
  for (const NamedValue& loss : losses) {
    finite = finite && std::isfinite(loss.value);
    auto sum = std::ranges::find(sums_.mean_losses, loss.name, &NamedValue::name);
    if (sum == sums_.mean_losses.end()) sum = sums_.mean_losses.insert(sum, {loss.name, 0});
    if (!skipped) sum->value += loss.value;
  }
  if (!finite) ++sums_.nan;
}

Interval IntervalStats::look(double seconds) const {
  Interval done = sums_;
  done.seconds_per_iteration = seconds / double(std::max<i64>(1, iterations()));
  for (NamedValue& loss : done.mean_losses)
    loss.value = done.advanced > 0 ? loss.value / double(done.advanced) : std::numeric_limits<double>::quiet_NaN();
  return done;
}

Interval IntervalStats::take(double seconds) {
  const Interval done = look(seconds);
  sums_ = {.mean_losses = std::move(sums_.mean_losses)};
  for (NamedValue& loss : sums_.mean_losses) loss.value = 0;
  return done;
}

}  // namespace megalith
