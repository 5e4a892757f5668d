// The part of a ring's block of keys that a rank's queries see, as one problem, if it is one. In zigzag order, as in
// blocks, queries and keys of the same rank see each other like a separate sequence. Of other blocks some of the
// queries see the first keys, all of them.
#pragma once
#include <optional>

#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

// Local places. With `causal` the last query sees the last key, the one before it all but that, and so on.
struct SeenBlock {
  i64 query = 0, queries = 0;  // the first, how many; 0: no query sees any key
  i64 keys = 0;                // the first so many
  bool causal = false;
};

// Of queries and keys at these positions, without windows or documents; nothing if it takes more than one.
std::optional<SeenBlock> seen_block(const Indices& queries, const Indices& keys);

}  // namespace megalith::cuda
