// IEEE half precision, as files hold it. No kernel computes in it, so conversion by bits is fast enough.
#pragma once
#include <bit>

#include "base/dtype.h"

namespace megalith {

inline float half_to_float(u16 h) {
  const u32 sign = u32(h & 0x8000) << 16, exponent = (h >> 10) & 0x1f, fraction = h & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = float(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<u32>(magnitude));
  }
  const u32 wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

// Rounds to nearest even; too large becomes infinity.
inline u16 float_to_half(float f) {
  const u32 bits = std::bit_cast<u32>(f), magnitude = bits & 0x7fffffff;
  const u16 sign = u16((bits >> 16) & 0x8000);
  if (magnitude > 0x7f800000) return u16(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x47800000) return u16(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return u16(sign | (std::bit_cast<u32>(shifted) - 0x3f000000));
  }
  const u32 rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return u16(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace megalith
