#include "data/retro/bag_sketch.h"

#include <algorithm>

#include "base/check.h"
#include "base/rng.h"

namespace megalith {

static constexpr i64 kBits = 64;  // per hash

BagSketch::BagSketch(i64 size, i64 most_tokens) : size_(size) {
  check(size >= kBits && size % kBits == 0, "a point size of {}: want a multiple of {}", size, kBits);
  check(most_tokens < (i64{1} << 15) && size <= (i64{1} << 31) / (most_tokens * most_tokens) - 1,
        "point size {} with chunks of {} tokens overflows: reduce either", size, most_tokens);
}

void BagSketch::make(std::span<const i32> tokens, std::span<i16> point) const {
  std::ranges::fill(point, i16(0));
  for (const i32 token : tokens)
    for (i64 at = 0; at < size_; at += kBits) {
      const u64 signs = mix_all(u64(at), i64(token));
      for (i64 bit = 0; bit < kBits; ++bit) point[std::size_t(at + bit)] += i16(1 - 2 * i64(signs >> bit & 1));
    }
}

i64 dot(std::span<const i16> a, std::span<const i16> b) {
  i32 sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += i32(a[i]) * i32(b[i]);
  return sum;
}

}  // namespace megalith
