// Weights of linear layers move between ranks as fp8 codes (--fp8-param-gather). Each rank casts its own part of a
// bucket. The codes are all-gathered, one byte a number instead of two. The cast of a layer's weight moves before the
// all-gather: the same scale gives the same codes.
#pragma once
#include "optim/buckets.h"

namespace megalith {

// Runs after the pass quantize. If a coded bucket has members in this graph, its weights become leaves of codes.
// Readers of the casts read these leaves. At the beginning are: the amax of all members, reduced over ranks in one
// vector; the casts of the ranks' parts; the gathers. They run in a step's first micro-batch, when weights are new. The
// pass gather-ahead moves the Waits. Error if another node reads values of such a weight.
bool gather_codes(Graph& g, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters);

}  // namespace megalith
