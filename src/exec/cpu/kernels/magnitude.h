// The largest |value| of a run as the bits of an f32 without sign, where NaN is above infinity: integers, so the
// compiler makes vectors of the loop, and in which order does not matter.
#pragma once
#include <algorithm>
#include <bit>

#include "quant/scale.h"

namespace megalith::cpu {

inline constexpr u32 kInfinityBits = 0x7f800000u;

template <class X>
u32 largest_bits(const X* x, i64 n) {
  u32 out = 0;
  for (i64 i = 0; i < n; ++i) out = std::max(out, quant::magnitude_bits(float(x[i])));
  return out;
}
// NaN counts as infinite.
inline float amax_of_bits(u32 bits) { return std::bit_cast<float>(std::min(bits, kInfinityBits)); }

}  // namespace megalith::cpu
