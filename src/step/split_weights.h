// The backward of a pipeline without bubbles: gradients of inputs first, those of weights when there is time.
#pragma once
#include "graph/graph.h"

namespace megalith {

// Backward nodes that only accumulate gradients of weights get Phase::weights: they may run later than the gradient of
// the input. If a parameter is used several times, each use adds to the previous sum. So a node is excluded if one that
// cannot wait reads its result.
void split_weights(Graph& g);

}  // namespace megalith
