// What multiplies values before they are cast, from the largest |value| (amax), by each recipe. f32 throughout, with
// IEEE division; an inverse may be a subnormal and must not be flushed. Source: Transformer Engine 2.20 by its
// documentation and by vectors that hold its own functions; OCP Microscaling Formats 1.0; arXiv 2509.25149 (NVFP4).
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

// How current_scale() makes a scale of its quotient.
struct ScaleRule {
  bool power_of_two = false;    // rounded down to one
  float least_amax = 0;         // a smaller amax counts as this
  float at_overflow = kF32Max;  // instead of an infinite quotient: the largest value of the input's type
};

// The largest power of two at or below a positive normal x.
constexpr float power_of_two_below(float x) { return std::bit_cast<float>(std::bit_cast<u32>(x) & 0xff800000u); }

// Of a tensor or a block with its own amax: largest / amax. 1 where amax is 0, infinite or NaN.
constexpr float current_scale(float amax, float largest, const ScaleRule& rule = {}) {
  const float a = amax < rule.least_amax ? rule.least_amax : amax;
  if (!is_finite_above_zero(a)) return 1;
  const float quotient = largest / a, scale = is_infinite(quotient) ? rule.at_overflow : quotient;
  return rule.power_of_two ? power_of_two_below(scale) : scale;
}

// Of amax values of the past: largest * 2^-margin / amax, margin from 0. The old scale stays where amax is 0, infinite
// or NaN.
constexpr float delayed_scale(float amax, float old, float largest, int margin) {
  double top = largest;
  for (int m = 0; m < margin; ++m) top /= 2;
  const float scale = is_finite_above_zero(amax) ? float(top) / amax : old;
  return is_infinite(scale) ? kF32Max : scale;
}

// What codes are multiplied with to get values back.
constexpr float inverse(float scale) { return 1.0f / scale; }

// MXFP8: the code of a block's e8m0. Rounded up, so that nothing saturates.
constexpr u8 mx_code(float amax, float largest) { return E8M0::encode_up(amax * (1.0f / largest)); }

// NVFP4: the tensor's factor, (448 * 6) / amax. 1 where amax is 0 or infinite; NaN stays.
constexpr float nv_factor(float amax) {
  if (magnitude_bits(amax) == 0 || is_infinite(amax)) return 1;
  const float factor = 2688.0f / amax;
  return is_infinite(factor) ? kF32Max : factor;
}

// Of a block: its ue4m3, what that stands for, and what the block's values are multiplied with before they are cast.
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
