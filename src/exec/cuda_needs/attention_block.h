// What a rank's queries see of a ring's block of keys, as one problem: where it is one. In zigzag order as in blocks,
// the queries and keys that lie together see each other like a sequence of their own; of other blocks some of the
// queries see the first of the keys, and see all of those.
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
