// The settings of an encoder-decoder (T5) in addition to a decoder's. Both stacks have the sizes of ModelConfig; its
// num_layers and seq_length are the encoder's. Names are Megatron's flags where Megatron has them.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct T5ModelConfig {
  i64 decoder_num_layers = 0;  // 0: as many as the encoder
  i64 decoder_seq_length = 0;  // tokens of the decoder's text; required
  // For --position-embedding-type relative (ops/relative_positions.h).
  i64 relative_attention_num_buckets = 32;
  i64 relative_attention_max_distance = 128;
  bool unscaled_attention = false;     // scores are not divided by sqrt(kv_channels) (Google's T5)
  bool scale_decoder_outputs = false;  // the head reads the final norm's result divided by sqrt(hidden_size) (v1.0)
  bool no_head_bias = false;           // a tied head has no bias (v1.0); an untied one never has a bias
  bool operator==(const T5ModelConfig&) const = default;
};

void list_fields(T5ModelConfig& c, config::FieldList& f);

}  // namespace megalith
