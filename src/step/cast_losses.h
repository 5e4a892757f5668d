// What a step's casts to fp8 or fp4 codes lost.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "passes/quantize.h"

namespace megalith {

// Of one tensor of a linear layer, over a step's micro-batches and ranks.
struct CastLoss {
  std::string layer;     // the name of its weight
  const char* kind;      // "x" (activation), "w" (weight) or "dy" (gradient)
  double saturated = 0;  // values beyond the largest number
  double underflow = 0;  // values that became 0
  double values = 0;     // all
};

// Adds those of counts [3 x layers, 3] to `out`, without tensors that were not cast.
void add_cast_losses(const std::vector<std::string>& layers, std::span<const double> counts,
                     std::vector<CastLoss>& out);

}  // namespace megalith
