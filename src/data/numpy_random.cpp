#include "data/numpy_random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

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

i64 RandomState::choice(std::span<const double> weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  for (double& s : sums) s /= sums.back();
  return std::upper_bound(sums.begin(), sums.end(), next_double()) - sums.begin();
}

// By inversion, as in NumPy, which computes q = 1 - p as a power of a logarithm.
bool RandomState::binomial(double p) {
  const double less = std::min(p, 1 - p);
  const bool rare = next_double() > std::exp(std::log(1 - less));
  return rare == (p <= 0.5);
}

i64 RandomState::geometric(double p) { return i64(std::ceil(std::log1p(-next_double()) / std::log(1 - p))); }

void RandomState::draw_down(u32 from, std::span<u32> out) {
  for (std::size_t k = 0; k < out.size();) {
    const u32 mask = ~u32{0} >> std::countl_zero(u32(from - k));
    const std::size_t end = std::min<std::size_t>(out.size(), from - (mask >> 1));  // the mask is the same up to here
    while (k < end) {
      const std::span<const u32> ahead = engine_.ahead();
      const std::size_t some = std::min(ahead.size(), end - k);
      for (const u32 raw : ahead.first(some)) {  // without a branch on the draw, which the CPU could not predict
        const u32 value = raw & mask;
        out[k] = value;
        k += value <= from - k;
      }
      engine_.take(some);
    }
  }
}

}  // namespace megalith
