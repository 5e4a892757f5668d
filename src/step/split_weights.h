// The backward of a pipeline without bubbles: gradients of inputs first, those of weights when there is time.
#pragma once
#include "graph/graph.h"

namespace megalith {

// Products and sums of the backward that only add to gradients' accumulators get Phase::weights: they may wait while
// the gradient of the input goes on. Of a parameter that is used several times each adds to what the one before has
// left. So none waits whose result is read by one that can't.
void split_weights(Graph& g);

}  // namespace megalith
