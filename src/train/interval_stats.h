// Adds up iterations between two log lines. Losses are averaged over advanced iterations (those whose step was
// applied); a skipped one is counted only. An iteration with a loss that is not finite counts as a NaN iteration,
// skipped or not (Megatron looks at skipped ones only); an advanced one also makes the mean NaN.
#pragma once
#include <span>

#include "train/iteration_record.h"

namespace megalith {

class IntervalStats {
 public:
  void add(std::span<const NamedValue> losses, bool skipped);
  i64 iterations() const { return sums_.advanced + sums_.skipped; }
  Interval take(double seconds);  // the interval that took so long; starts a new one, with the same losses

 private:
  Interval sums_;
};

}  // namespace megalith
