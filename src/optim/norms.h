// The norm of all weights, as a program after the update.
#pragma once
#include <vector>

#include "optim/update.h"

namespace megalith {

inline constexpr const char *kSquareWeights = "square weights", *kWeightSquares = "weight squares";

// Its output kWeightSquares [] f64 is the sum of squares of all main weights over all ranks. Each element counts once;
// a parameter on several stages counts on the first. (Padding is 0.) `stage`: the index of this stage.
Graph square_weights(const Mesh& mesh, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
                     const OptimizerConfig& config, const Precision& precision, int stage);

}  // namespace megalith
