// The share of values that casts to fp8 and fp4 codes lose.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/named_value.h"
#include "step/cast_losses.h"

namespace megalith {

// The layer in "decoder.layers.3.mlp.linear_fc1.weight"; -1: outside the layers.
i64 layer_of(const std::string& tensor);

// Shares of all tensors of one kind, in one layer or in all layers.
struct CastShares {
  std::string kind;      // "x", "w" or "dy"; empty: all
  i64 layer = -1;        // -1: all
  double saturated = 0;  // share of the values that are beyond the largest number
  double underflow = 0;  // share of the values that are not 0 and became 0
};
// Shares of all casts, then of each kind, then of each kind in each layer. Empty without casts.
std::vector<CastShares> cast_shares(std::span<const CastLoss> casts);

// The shares with their names in the metrics file and TensorBoard: "fp8_saturated", "fp8_underflow_dy_layer_3".
std::vector<NamedValue> cast_values(std::span<const CastLoss> casts);

}  // namespace megalith
