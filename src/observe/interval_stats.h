// Adds up iterations between two log lines. Losses are averaged over advanced iterations (those whose step was
// applied); a skipped one is counted only. An iteration with a loss that is not finite counts as a NaN iteration,
// skipped or not (Megatron looks at skipped ones only); an advanced one also makes the mean NaN.
#pragma once
#include <span>

#include "step/iteration_record.h"

namespace megalith {

class IntervalStats {
 public:
  IntervalStats() = default;
  explicit IntervalStats(Interval sums) : sums_(std::move(sums)) {}  // goes on with an interval that was broken off

  void add(std::span<const NamedValue> losses, bool skipped);
  i64 iterations() const { return sums_.advanced + sums_.skipped; }
  Interval look(double seconds) const;            // the interval so far, which took so long
  Interval take(double seconds);                  // the same, and a new one starts, with the same losses
  const Interval& sums() const { return sums_; }  // of the interval so far: sums of losses where others have means

 private:
  Interval sums_;
};

}  // namespace megalith
