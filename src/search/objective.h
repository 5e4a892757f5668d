// What the best layout is: the fastest, or the one that needs the least memory. Days, money and energy of one number of
// GPUs follow from its speed; they tell numbers of GPUs apart.
#pragma once
#include <limits>

#include "search/estimate.h"
#include "search/price.h"

namespace megalith::search {

enum class Objective { tokens_per_second, days, cost, memory, energy };

// What a search puts layouts in order by, from each of their prices: seconds of a step, or bytes.
class Order {
 public:
  explicit Order(Objective objective) : bytes_(objective == Objective::memory) {}

  // Of prices with `seconds` and `bytes`.
  template <class Price>
  double of(const Price& p) const {
    return bytes_ ? p.bytes : p.seconds;
  }
  double of(const Price& p) const { return bytes_ ? double(p.fullest.need.total()) : p.time.seconds; }

  // The least that a layout of this estimate may have.
  double least(const Estimate& e) const {
    return bytes_ ? (e.bytes - kMemorySlack) / (1 + kMemoryError) : e.seconds * (1 - e.error);
  }
  // The most that one may have which is not behind an estimate of this value.
  double most(double value) const { return bytes_ ? value * (1 + kMemoryError) + kMemorySlack : value * (1 + kError); }

 private:
  bool bytes_;
};

}  // namespace megalith::search
