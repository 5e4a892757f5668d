// Delayed scaling: a tensor is cast with a scale that follows from its past amax values. Source: Transformer Engine
// 2.20.
#pragma once
#include <string_view>

#include "quant/fp8_format.h"
#include "quant/matrix.h"

namespace megalith {

// The name of a linear layer's state: its weight's name with this instead of ".weight". Checkpoints may lack it.
inline constexpr std::string_view kScaleState = ".fp8_state";

}  // namespace megalith

namespace megalith::quant {

enum class AmaxAlgorithm { max, most_recent };

struct DelayedRule {
  Fp8 format = Fp8::e4m3;
  AmaxAlgorithm algorithm = AmaxAlgorithm::most_recent;
  int margin = 0;  // scales are divided by 2^margin
};

// One update of all tensors. amax [tensors] is the maximum over the casts since the last update, reduced over ranks.
// history [slots, tensors] and scale [tensors] change in place; they start as zeros and ones. Slot i takes the amax of
// slot i + 1, and the last slot takes the new amax. Slot 0 becomes 0; casts may collect their amax there. With `max`
// the scale follows from the largest amax of the window, the new one included. With `most_recent` it follows from the
// new amax. A tensor whose amax is 0 was not cast, and keeps both.
void update_delayed(const DelayedRule& rule, std::span<const float> amax, Out<float> history, std::span<float> scale);

}  // namespace megalith::quant
