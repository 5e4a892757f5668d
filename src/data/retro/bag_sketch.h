// A chunk as a point: the sum over its tokens of vectors of +1 and -1, which are drawn from the tokens' ids. The square
// of the distance of two points, divided by their size, estimates how many tokens one chunk has and the other lacks.
// All is whole numbers, so that no order of sums matters.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

using i16 = std::int16_t;

class BagSketch {
 public:
  // `size`: of a point, a multiple of 64. Error if points of so many tokens are too far apart to count.
  BagSketch(i64 size, i64 most_tokens);

  i64 size() const { return size_; }
  void make(std::span<const i32> tokens, std::span<i16> point) const;

 private:
  i64 size_;
};

i64 dot(std::span<const i16> a, std::span<const i16> b);

}  // namespace megalith
