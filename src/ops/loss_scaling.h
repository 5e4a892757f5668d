// Loss scaling in a step: the initial cotangent of the loss is multiplied, so that small gradients do not vanish in
// f16.
#pragma once
#include "quant/loss_scale.h"

namespace megalith {

// Gradients are those of scale * unit * the sum of losses. `unit` is a power of two near 1 / (tokens of a global
// batch). So `scale` is that of a mean loss, as in Megatron, and the scaling rounds nothing.
struct LossScaling {
  quant::LossScaleRule rule{};
  bool constant = false;  // the scale is always rule.initial
  double unit = 1;
  bool operator==(const LossScaling&) const = default;
};

// The layout of the device's loss scale: a leaf [3] f64.
namespace loss_scale_state {
constexpr int kScale = 0, kClean = 1, kLeft = 2, kSize = 3;

constexpr quant::LossScale read(const quant::LossScaleRule& rule, const double* state) {
  quant::LossScale out(rule);
  out.scale = float(state[kScale]), out.clean = i32(state[kClean]), out.left = i32(state[kLeft]);
  return out;
}
constexpr void write(const quant::LossScale& scale, double* state) {
  state[kScale] = scale.scale, state[kClean] = scale.clean, state[kLeft] = scale.left;
}
}  // namespace loss_scale_state

}  // namespace megalith
