// The encoder of a RETRO's neighbours: a small transformer. It sees each whole neighbour. In its first layer it also
// sees the decoder's states of the chunk that the neighbour belongs to.
#pragma once
#include "models/retro/chunks.h"

namespace megalith {

// The text of a stack as the stream [s,b,h], from the tables of words and learned positions. `tokens` and `ids` name
// the leaves. `site`: the key of its dropout.
Value embed_text(Parts& parts, const std::string& site, const char* tokens, const char* ids, Value table);

// x plus the output y of a block, a sum that is partial over tp. A bias is added once, after the reduction.
Value give_to_stream(Parts& parts, const std::string& linear, bool has_bias, Value x, Value y);

// states [s,b,h] of the decoder, after a norm -> memory [n,(c k),h]. `name`: prefix of the parameters' names. Leaves:
// neighbor_tokens, neighbor_position_ids i32 [n,(c k)]; neighbor_rows i64 [(c k)], chunk_rows i64 [c].
Value encode_neighbors(Parts& parts, const std::string& name, Value table, Value states);

}  // namespace megalith
