// An f32 number as two halves of 16 bits: the nearest bf16, and the low half. join_float() restores every bit. So a
// weight that the model reads in bf16 needs 2 more bytes for its f32 value, not 4.
//
// Ties round away from zero, not to even: with ties to even the low half could not restore the f32 number. NaN stays
// some NaN.
#pragma once
#include <cstddef>
#include <span>

#include "base/dtype.h"

namespace megalith {

inline bool is_nan_bits(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

inline bf16 bf16_half_of(float x) {
  const u32 u = std::bit_cast<u32>(x);
  bf16 bf16_half;
  bf16_half.bits = is_nan_bits(u) ? u16(u >> 16 | 0x40) : u16((u + 0x8000u) >> 16);
  return bf16_half;
}

inline u16 low_half_of(float x) {
  const u32 u = std::bit_cast<u32>(x);
  return is_nan_bits(u) ? u16{0} : u16(u);
}

inline float join_float(bf16 bf16_half, u16 low_half) {
  return std::bit_cast<float>((u32(bf16_half.bits) << 16) + u32(i32(std::int16_t(low_half))));
}

// Of arrays, which need no alignment but that of 16 bits.
inline void join_floats(const std::byte* bf16_half, const std::byte* low_half, std::span<float> out) {
  const bf16* high = reinterpret_cast<const bf16*>(bf16_half);
  const u16* low = reinterpret_cast<const u16*>(low_half);
  for (size_t i = 0; i < out.size(); ++i) out[i] = join_float(high[i], low[i]);
}

}  // namespace megalith
