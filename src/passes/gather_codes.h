// Weights of linear layers move between ranks as codes of fp8 (--fp8-param-gather). Each rank casts its own part of a
// bucket, and the codes are gathered, a byte for each number instead of two. The cast of a layer's weight moves before
// the gather: with the same scale it gives the same codes.
#pragma once
#include "optim/buckets.h"

namespace megalith {

// Behind the pass quantize. Of the coded buckets that have members here: their weights become leaves of codes, which
// what read the casts reads. At the head are the largest values of all members, reduced over ranks in one vector; the
// casts of the ranks' parts; the gathers. The pass gather-ahead moves their ends. Error if values of a weight are read.
bool gather_codes(Graph& g, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters);

}  // namespace megalith
