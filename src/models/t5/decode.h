// A T5 for generation: the encoder once, then the decoder token by token over caches.
#pragma once
#include "models/config.h"
#include "models/model.h"

namespace megalith {

struct T5DecodeShape {
  i64 source = 1;  // tokens of the encoder's text
  i64 length = 1;  // most tokens that the decoder may read
  Precision precision = {};
};

// Reads a text, data leaves tokens and position_ids (i32 [s,1]): the keys and values of all cross-attentions go to
// leaves of role cache.
Built build_t5_encoding(Builder& b, const ModelConfig& config, const T5DecodeShape& shape);

// The decoder's next token after `length` others (i32 []); their keys and values are in caches. Data leaves:
// decoder_tokens/1, decoder_position_ids/1 and, with rope, position_ids/1 (i32 [1,1]). Output: "logits" [1,1,v].
Built build_t5_decoding(Builder& b, const ModelConfig& config, const T5DecodeShape& shape);

}  // namespace megalith
