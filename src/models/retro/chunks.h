// Cuts a RETRO's values into chunks: each chunk of each sequence becomes a sequence.
//   s sequence = l chunks of m tokens  b batch  c = (b l) chunks of the batch  k neighbours of a chunk
//   n tokens of a neighbour
#pragma once
#include "models/blocks/parts.h"

namespace megalith {

struct Chunks {
  i64 m = 0, l = 0, b = 0, k = 0, n = 0;
  i64 chunks() const { return b * l; }
  i64 neighbors() const { return b * l * k; }
};
Chunks chunks_of(const ModelConfig& config, i64 batch);

// Keys of dropout: sample numbers of chunks, i64 [c].
Value chunk_rows(Parts& parts);

// x [s,b,..] -> [m,c,..] and back, s unsplit; `rest`: the remaining letters.
Value to_chunks(Builder& b, const Chunks& sizes, const std::string& rest, Value x);
Value from_chunks(Builder& b, const Chunks& sizes, const std::string& rest, Value x);

// A chunk's neighbours as one text: x [n,(c k),..] -> [(n k),c,..] and back.
Value join_neighbors(Builder& b, const Chunks& sizes, const std::string& rest, Value x);
Value part_neighbors(Builder& b, const Chunks& sizes, const std::string& rest, Value x);

// x [s,b,g,r,d], s unsplit: token t becomes token t + m - 1 of x. The first m - 1 tokens move to the end, where nothing
// reads them.
Value move_ahead(Builder& b, const Chunks& sizes, Value x);
// The inverse, with zeros for the first m - 1 tokens.
Value move_back(Builder& b, const Chunks& sizes, Value x);

}  // namespace megalith
