// Stochastic rounding to e2m1, for the gradients of NVFP4. The result is one of the two neighbours of x. The
// probability of the upper one keeps the mean.
#pragma once
#include "quant/small_float.h"

namespace megalith::quant {

struct E2M1Neighbours {
  float low, high;  // the grid's values around x; equal if x is one of them
  double p_high;    // probability of `high`: (x - low) / (high - low); 0 if they are equal
};

// The neighbours of x, clipped to [-6, 6]. NaN has those of 6, as in encode().
constexpr E2M1Neighbours e2m1_neighbours(float x) {
  const float largest = kLargest<E2M1>, cut = x < -largest ? -largest : x < largest ? x : largest;
  const bool negative = cut < 0;
  const float magnitude = negative ? -cut : cut;
  u32 code = 0;
  while (code < E2M1::kMaxCode && E2M1::decode(code + 1) <= magnitude) ++code;
  const float near = E2M1::decode(code);
  if (near == magnitude) return {cut, cut, 0};
  const float far = E2M1::decode(code + 1), low = negative ? -far : near, high = negative ? -near : far;
  return {low, high, (double(cut) - double(low)) / (double(high) - double(low))};
}

// random: 32 random bits, different for each element.
constexpr u8 encode_e2m1_stochastic(float x, u32 random) {
  const E2M1Neighbours n = e2m1_neighbours(x);
  return E2M1::encode(double(random) * 0x1p-32 < n.p_high ? n.high : n.low);
}

}  // namespace megalith::quant
