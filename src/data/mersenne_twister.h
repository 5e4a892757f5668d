// MT19937, like std::mt19937, but it makes outputs in vectors, and callers can take many at once.
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

  // The next outputs, at least one. take(n) consumes n of them.
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
