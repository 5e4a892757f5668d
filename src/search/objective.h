// What the best layout is: the fastest one, or the one with the least memory. For a given number of GPUs, days, money
// and energy follow from the speed. So they only compare numbers of GPUs.
#pragma once
#include <limits>

#include "search/estimate.h"
#include "search/price.h"

namespace megalith::search {

enum class Objective { tokens_per_second, days, cost, memory, energy };

// The sort key of layouts, from a bound, an estimate or a price: seconds of a step, or bytes.
class Order {
 public:
  explicit Order(Objective objective) : bytes_(objective == Objective::memory) {}

  // Of prices with `seconds` and `bytes`.
  template <class Price>
  double of(const Price& p) const {
    return bytes_ ? p.bytes : p.seconds;
  }
  double of(const Price& p) const { return bytes_ ? double(p.fullest.need.total()) : p.time.seconds; }

  // The smallest possible key of a layout with this estimate.
  double least(const Estimate& e) const {
    return bytes_ ? (e.bytes - kMemorySlack) / (1 + kMemoryError) : e.seconds * (1 - e.error);
  }

 private:
  bool bytes_;
};

}  // namespace megalith::search
