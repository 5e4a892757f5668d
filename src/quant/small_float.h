// Floating-point formats of 8 and 4 bits: a sign, kExponent bits of exponent, kMantissa bits of mantissa.
//
//   format  bits   largest  smallest normal, subnormal  special codes
//   e4m3    1-4-3  448      2^-6, 2^-9                   NaN 7f ff; no infinity
//   e5m2    1-5-2  57344    2^-14, 2^-16                 infinity 7c fc; NaN 7d-7f fd-ff
//   e2m1    1-2-1  6        1, 0.5                       none
//
// encode() takes the nearest value; of two equally near ones the one with even mantissa. Values larger than the largest
// finite one, infinity too, become that one. NaN becomes the code of all ones with sign 0: a NaN, and 6 in e2m1. Zeros
// keep their sign, also if they come from rounding. Source: OCP 8-bit Floating Point Specification 1.0, OCP
// Microscaling Formats 1.0. Only bits are added and shifted, so every compiler and device gives the same codes.
#pragma once
#include <bit>

#include "base/dtype.h"

namespace megalith::quant {

// The meaning of the largest exponent.
enum class Special { infinity_and_nan, nan_only, nothing };

template <int kExponent, int kMantissa, Special kSpecial>
struct SmallFloat {
  static constexpr int kBits = 1 + kExponent + kMantissa, kBias = (1 << (kExponent - 1)) - 1;
  static constexpr u32 kSign = 1u << (kExponent + kMantissa), kNaN = kSign - 1;  // kNaN: the code of a NaN
  static constexpr u32 kMaxCode = kSpecial == Special::infinity_and_nan ? kNaN - (1u << kMantissa)
                                  : kSpecial == Special::nan_only       ? kNaN - 1
                                                                        : kNaN;

  static constexpr bool is_nan(u32 code) {
    const u32 magnitude = code & kNaN;
    return kSpecial == Special::infinity_and_nan ? magnitude > kMaxCode + 1 : magnitude > kMaxCode;
  }

  static constexpr float decode(u32 code) {
    const u32 sign = code & kSign ? 0x80000000u : 0, magnitude = code & kNaN;
    if (is_nan(code)) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (magnitude > kMaxCode) return std::bit_cast<float>(sign | 0x7f800000u);
    if (magnitude >> kMantissa != 0)
      return std::bit_cast<float>(sign | ((magnitude << kDropped) + (u32(127 - kBias) << 23)));
    const float step = std::bit_cast<float>(u32(128 - kBias - kMantissa) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<u32>(float(magnitude) * step));
  }

  static constexpr u8 encode(float x) {
    const u32 bits = std::bit_cast<u32>(x), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return u8(kNaN);
    const u32 sign = bits >> 31 != 0 ? kSign : 0;
    if (magnitude >= std::bit_cast<u32>(decode(kMaxCode))) return u8(sign | kMaxCode);
    if (magnitude >> 23 >= u32(128 - kBias)) {
      const u32 even = (magnitude >> kDropped) & 1, rounded = magnitude + ((1u << (kDropped - 1)) - 1) + even;
      return u8(sign | ((rounded >> kDropped) - (u32(127 - kBias) << kMantissa)));
    }
    return u8(sign | encode_subnormal(magnitude));
  }

 private:
  static constexpr int kDropped = 23 - kMantissa;  // bits of an f32's mantissa that do not fit

  // Bits of an f32 in [0, smallest normal): the nearest multiple of the smallest subnormal.
  static constexpr u32 encode_subnormal(u32 magnitude) {
    const int shift = 151 - kBias - kMantissa - int(magnitude >> 23);  // of the f32's 24 bits
    if (shift > 24) return 0;                                          // less than half of the smallest subnormal
    const u32 significand = (magnitude & 0x7fffffu) | 0x800000u, whole = significand >> shift;
    const u32 rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
  }
};

using E4M3 = SmallFloat<4, 3, Special::nan_only>;
using E5M2 = SmallFloat<5, 2, Special::infinity_and_nan>;
using E2M1 = SmallFloat<2, 1, Special::nothing>;
// The block scales of NVFP4 are ue4m3: codes of E4M3 whose sign is 0.

template <class F>
inline constexpr float kLargest = F::decode(F::kMaxCode);

}  // namespace megalith::quant
