// Random numbers keyed by global indices: an element draws the same number under every layout, order and micro-batch.
// Each index is mixed in by a splitmix64-style round (Steele, Lea, Flood 2014).
#pragma once
#include <cmath>
#include <numbers>

#include "base/dtype.h"

namespace megalith {

constexpr u64 mix(u64 h, u64 index) {
  h = (h ^ (index + 0x9E3779B97F4A7C15ull)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return h ^ (h >> 31);
}
template <class... I>
constexpr u64 mix_all(u64 seed, I... index) {
  ((seed = mix(seed, u64(index))), ...);
  return seed;
}
constexpr double unit(u64 h) { return double(h >> 11) * 0x1p-53; }  // [0, 1)

// Standard normal by Box and Muller from two hashes of h.
inline double normal(u64 h) {
  const double u = unit(mix(h, 1)), v = unit(mix(h, 2));
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

constexpr u64 hash_name(std::string_view s) {  // FNV-1a
  u64 h = 0xcbf29ce484222325ull;
  for (char c : s) h = (h ^ u8(c)) * 0x100000001b3ull;
  return h;
}

}  // namespace megalith
