// The factor of values before they are cast, from the largest |value| (amax), by each recipe. All is f32, with IEEE
// division. An inverse may be a subnormal and must not be flushed. Sources: Transformer Engine 2.20, its documentation
// and vectors made by its own functions; OCP Microscaling Formats 1.0; arXiv 2509.25149 (NVFP4).
#pragma once
#include <bit>

#include "base/dtype.h"
#include "quant/e8m0.h"
#include "quant/small_float.h"

namespace megalith::quant {

inline constexpr float kF32Max = 0x1.fffffep127f, kBf16Max = 0x1.fep127f;

constexpr u32 magnitude_bits(float x) { return std::bit_cast<u32>(x) & 0x7fffffffu; }
constexpr bool is_finite_above_zero(float amax) {
  return magnitude_bits(amax) != 0 && magnitude_bits(amax) < 0x7f800000u;
}
constexpr bool is_infinite(float x) { return magnitude_bits(x) == 0x7f800000u; }

// How current_scale() derives a scale from its quotient.
struct ScaleRule {
  bool power_of_two = false;    // rounded down to one
  float least_amax = 0;         // a smaller amax counts as this value
  float at_overflow = kF32Max;  // instead of an infinite quotient: the largest value of the input's type
};

// The largest power of two <= x, for a positive normal x.
constexpr float power_of_two_below(float x) { return std::bit_cast<float>(std::bit_cast<u32>(x) & 0xff800000u); }

// The scale of a tensor or block from its own amax: largest / amax. 1 if amax is 0, infinite or NaN.
constexpr float current_scale(float amax, float largest, const ScaleRule& rule = {}) {
  const float a = amax < rule.least_amax ? rule.least_amax : amax;
  if (!is_finite_above_zero(a)) return 1;
  const float quotient = largest / a, scale = is_infinite(quotient) ? rule.at_overflow : quotient;
  return rule.power_of_two ? power_of_two_below(scale) : scale;
}

// The same, rounded down to a power of two, by integers. `largest` is 1.75 times a power of two, as of e4m3 and e5m2.
constexpr float power_of_two_scale(float amax, float largest) {
  if (!is_finite_above_zero(amax)) return 1;
  constexpr u32 kMantissa = 0x7fffffu, k1_75 = 0x600000u;
  const u32 bits = magnitude_bits(amax);
  const u32 exponent = (std::bit_cast<u32>(largest) >> 23) + 127 - (bits >> 23) - ((bits & kMantissa) > k1_75);
  return std::bit_cast<float>((exponent < 254 ? exponent : 254) << 23);  // a subnormal amax has an infinite quotient
}

// The scale from past amax values: largest * 2^-margin / amax, margin >= 0. The old scale stays if amax is 0, infinite
// or NaN.
constexpr float delayed_scale(float amax, float old, float largest, int margin) {
  double top = largest;
  for (int m = 0; m < margin; ++m) top /= 2;
  const float scale = is_finite_above_zero(amax) ? float(top) / amax : old;
  return is_infinite(scale) ? kF32Max : scale;
}

// Codes times this are the values.
constexpr float inverse(float scale) { return 1.0f / scale; }
// The same for a power of two that is normal.
constexpr float inverse_of_power(float scale) {
  const u32 exponent = 254 - (std::bit_cast<u32>(scale) >> 23);
  return std::bit_cast<float>(exponent > 0 ? exponent << 23 : 0x400000u);
}

// MXFP8: the e8m0 code of a block. Rounded up, so that nothing saturates.
constexpr u8 mx_code(float amax, float largest) { return E8M0::encode_up(amax * (1.0f / largest)); }

// NVFP4: the tensor's factor, (448 * 6) / amax. 1 if amax is 0 or infinite; NaN stays NaN.
constexpr float nv_factor(float amax) {
  if (magnitude_bits(amax) == 0 || is_infinite(amax)) return 1;
  const float factor = 2688.0f / amax;
  return is_infinite(factor) ? kF32Max : factor;
}

// For a block: its ue4m3 code, the value of the code, and the factor of the block's values before they are cast.
struct NvScale {
  u8 code;
  float scale_inv, scale;
};
constexpr NvScale nv_scale(float amax, float tensor_factor) {
  const float wanted = amax * (tensor_factor * (1.0f / 6.0f));
  const u8 code = E4M3::encode(wanted > kF32Max ? kF32Max : wanted);
  const float value = E4M3::decode(code) * inverse(tensor_factor), scale = inverse(value);
  return {code, value, scale > kF32Max ? kF32Max : scale};
}

}  // namespace megalith::quant
