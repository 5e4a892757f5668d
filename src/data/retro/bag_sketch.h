// Maps a chunk to a point: the sum, over its tokens, of vectors of +1 and -1 that are drawn from the token's id. The
// squared distance of two points is divided by their size. It estimates how many tokens are in only one of the chunks.
// All values are integers, so the order of sums does not matter.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

using i16 = std::int16_t;

class BagSketch {
 public:
  // `size`: numbers in a point, a multiple of 64. Error if distances between points of `most_tokens` tokens overflow.
  BagSketch(i64 size, i64 most_tokens);

  i64 size() const { return size_; }
  void make(std::span<const i32> tokens, std::span<i16> point) const;

 private:
  i64 size_;
};

i64 dot(std::span<const i16> a, std::span<const i16> b);

}  // namespace megalith
