// The norm of all weights, as a program beside the update: it reads what that leaves.
#pragma once
#include <vector>

#include "optim/update.h"

namespace megalith {

inline constexpr const char *kSquareWeights = "square weights", *kWeightSquares = "weight squares";

// Its output kWeightSquares [] f64 is the sum of the squares of all main weights, over all ranks: each element counts
// once, and what several stages hold counts on the first of them. (Padding is 0.) `stage`: this one's place.
Graph square_weights(const Mesh& mesh, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
                     const OptimizerConfig& config, const Precision& precision, int stage);

}  // namespace megalith
