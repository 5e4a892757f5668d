// The norms of all weights and of the optimizer's states, as a program after the update.
#pragma once
#include <string>
#include <vector>

#include "optim/update.h"

namespace megalith {

struct NormsAsked {
  bool weights = false;
  bool states = false;  // of the optimizer: one norm for each suffix
  bool any() const { return weights || states; }
};

inline constexpr const char* kNorms = "norms";                       // the program
inline constexpr const char* kWeightSquares = "squares of weights";  // its outputs
std::string squares_of_state(const std::string& suffix);             // "squares of exp_avg"

// Each output, [] f64, is the sum of squares over all ranks: of all main weights, or of all states of a suffix. Each
// element counts once; a parameter on several stages counts on the first. (Padding is 0.) `stage`: the index of this
// stage. All stages have the same outputs.
Graph norms(const Mesh& mesh, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
            const OptimizerConfig& config, const Precision& precision, int stage, const NormsAsked& asked);

}  // namespace megalith
