// Two small models for tests of passes.
#pragma once
#include "models/config.h"

namespace megalith {

constexpr int kLayers = 2;

inline ModelConfig gpt2() {
  ModelConfig c;
  c.num_layers = kLayers, c.hidden_size = 16, c.ffn_hidden_size = 32, c.num_attention_heads = c.num_query_groups = 4;
  c.kv_channels = 4, c.seq_length = c.max_position_embeddings = 8, c.vocab_size = 50, c.padded_vocab_size = 52;
  return c;
}

inline ModelConfig llama() {
  ModelConfig c = gpt2();
  c.position_embedding_type = PositionEmbedding::rope, c.normalization = Normalization::rms_norm;
  c.activation = Activation::swiglu, c.add_bias_linear = false, c.untie_embeddings_and_output_weights = true;
  return c;
}

}  // namespace megalith
