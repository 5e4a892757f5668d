// The encoder of a RETRO's neighbours: a small transformer that sees each neighbour whole and, in its first layer, the
// decoder's states of the chunk whose neighbour it is.
#pragma once
#include "models/retro/chunks.h"

namespace megalith {

// The text of a stack as the stream [s,b,h], by the tables of words and learned positions: the leaves `tokens` and
// `ids`. `site`: the key of its dropout.
Value embed_text(Parts& parts, const std::string& site, const char* tokens, const char* ids, Value table);

// x plus the output y of a block, a sum that is partial over tp. A bias is added once, after the reduction.
Value give_to_stream(Parts& parts, const std::string& linear, bool has_bias, Value x, Value y);

// states [s,b,h] of the decoder, normed -> memory [n,(c k),h]. `name`: before the parameters' names. Leaves:
// neighbor_tokens, neighbor_position_ids i32 [n,(c k)]; neighbor_rows i64 [(c k)], chunk_rows i64 [c].
Value encode_neighbors(Parts& parts, const std::string& name, Value table, Value states);

}  // namespace megalith
