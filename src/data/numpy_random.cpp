#include "data/numpy_random.h"

#include <bit>

namespace megalith {

u64 RandomState::next64() {
  const u64 high = next32();
  return (high << 32) | next32();
}

double RandomState::next_double() {
  const u32 a = next32() >> 5, b = next32() >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

u64 RandomState::interval(u64 max) {
  if (max == 0) return 0;
  const u64 mask = ~u64{0} >> std::countl_zero(max);  // the smallest 2^k - 1 >= max
  for (;;) {
    const u64 value = (max > 0xffffffffu ? next64() : next32()) & mask;
    if (value <= max) return value;
  }
}

}  // namespace megalith
