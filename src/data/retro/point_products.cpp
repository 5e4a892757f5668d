#include "data/retro/point_products.h"

#include <algorithm>

namespace megalith {

// Up to these, all integers are exact in bf16 and in f32.
static constexpr i64 kWholeInBf16 = 256, kWholeInF32 = i64{1} << 24;

i64 largest_of(std::span<const i16> numbers) {
  i32 most = 0;
  for (const i16 n : numbers) most = std::max(most, n < 0 ? -i32(n) : i32(n));
  return most;
}

bool has_exact_products(i64 size, i64 a, i64 b) { return std::max(a, b) <= kWholeInBf16 && size * a * b < kWholeInF32; }

}  // namespace megalith
