// A T5 for generation: the encoder runs once, then the decoder runs token by token with caches.
#pragma once
#include "models/config.h"
#include "models/model.h"

namespace megalith {

struct T5DecodeShape {
  i64 source = 1;  // tokens of the encoder's text
  i64 length = 1;  // maximum tokens that the decoder may read
  Precision precision = {};
};

// Reads a text, data leaves tokens and position_ids (i32 [s,1]). Writes the keys and values of all cross-attentions to
// leaves of role cache.
Built build_t5_encoding(Builder& b, const ModelConfig& config, const T5DecodeShape& shape);

// The decoder's next token after `length` others (i32 []), whose keys and values are in caches. Data leaves:
// decoder_tokens/1, decoder_position_ids/1 and, with rope, position_ids/1 (i32 [1,1]). Output: "logits" [1,1,v],
// whole on each rank.
Built build_t5_decoding(Builder& b, const ModelConfig& config, const T5DecodeShape& shape);

}  // namespace megalith
