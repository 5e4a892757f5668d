// The dynamic loss scale of fp16: the loss is multiplied by it, so that small gradients do not vanish. Source: Megatron
// Core's DynamicGradScaler.
#pragma once
#include "base/dtype.h"

namespace megalith::quant {

struct LossScaleRule {
  float initial = 0x1p32f, least = 1;
  i32 window = 1000;   // steps without overflow until the scale doubles
  i32 hysteresis = 2;  // steps with overflow until it halves
  bool operator==(const LossScaleRule&) const = default;
};

struct LossScale {
  float scale;
  i32 clean = 0;  // steps since the last overflow or growth
  i32 left;       // overflows until the scale halves; it continues below 0, and is reset only when the scale grows

  constexpr explicit LossScale(const LossScaleRule& rule) : scale(rule.initial), left(rule.hysteresis) {}

  bool operator==(const LossScale&) const = default;

  // The factor of gradients.
  constexpr float inverse() const { return float(1.0 / double(scale)); }

  // Called once a step. found_inf: a gradient of any rank and micro-batch is infinite or NaN. Such a step changes no
  // weight.
  constexpr void update(const LossScaleRule& rule, bool found_inf) {
    if (found_inf) {
      clean = 0;
      if (--left > 0) return;
      const float half = scale * 0.5f;
      scale = half < rule.least ? rule.least : half;
    } else if (++clean == rule.window) {
      clean = 0, left = rule.hysteresis;
      scale *= 2;
    }
  }
};

}  // namespace megalith::quant
