// MT19937, as std::mt19937, with its next outputs side by side: they are made in vectors and can be taken many at once.
#pragma once
#include <array>
#include <span>

#include "base/dtype.h"

namespace megalith {

class MersenneTwister {
 public:
  explicit MersenneTwister(u32 seed);

  u32 operator()() {
    const u32 next = ahead()[0];
    ++taken_;
    return next;
  }

  // Outputs that come next, at least one, until others are taken; take(n) passes over n of them.
  std::span<const u32> ahead() {
    if (taken_ == kSize) refill();
    return std::span(outputs_).subspan(taken_);
  }
  void take(std::size_t n) { taken_ += n; }

 private:
  static constexpr std::size_t kSize = 624;

  void refill();

  std::array<u32, kSize> state_, outputs_;
  std::size_t taken_ = kSize;
};

}  // namespace megalith
