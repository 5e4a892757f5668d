// ue8m0, the scale of an MX block: 8 exponent bits only. Code c is 2^(c - 127): 00 is 2^-127, 7f is 1, fe is 2^127, ff
// is NaN. Source: OCP Microscaling Formats 1.0.
#pragma once
#include <bit>

#include "base/dtype.h"

namespace megalith::quant {

struct E8M0 {
  static constexpr u32 kNaN = 0xff;

  // The smallest power of two >= |x|. 0 becomes 2^-127. Values above 2^127, infinity too, become 2^127.
  static constexpr u8 encode_up(float x) {
    const u32 magnitude = std::bit_cast<u32>(x) & 0x7fffffffu, exponent = magnitude >> 23;
    if (magnitude > 0x7f800000u) return u8(kNaN);
    if (exponent >= 0xfe) return 0xfe;
    const u32 power = exponent == 0 ? 0x400000u : exponent << 23;  // 2^(exponent - 127); 2^-127 is a subnormal
    return u8(exponent + (magnitude > power ? 1 : 0));
  }

  static constexpr float decode(u32 code) {
    if (code == kNaN) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(code == 0 ? 0x400000u : code << 23);
  }

  // 1 / decode(code), exact. The block's values are multiplied by it before they are cast.
  static constexpr float inverse(u32 code) { return code == kNaN ? decode(kNaN) : decode(0xfe - code); }
};

}  // namespace megalith::quant
