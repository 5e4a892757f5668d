// The part of a ring's block of keys that a rank's queries see, as one problem if possible. In zigzag order and in
// blocks, queries and keys of the same rank see each other like a separate sequence. Of another rank's block some of
// the queries see its first keys, all of these.
#pragma once
#include <optional>

#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

// Local indices. With `causal` the last query sees all keys, the query before it all but the last key, and so on.
struct SeenBlock {
  i64 query = 0, queries = 0;  // first query; number of queries, 0: no query sees any key
  i64 keys = 0;                // number of keys, from the first on
  bool causal = false;
};

// For queries and keys at these positions, without windows or documents. Nothing if one problem does not suffice.
std::optional<SeenBlock> seen_block(const Indices& queries, const Indices& keys);

}  // namespace megalith::cuda
