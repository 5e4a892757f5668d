// Links of Megatron's RetroModel: a GPT, some of whose layers have cross-attention, and in the first of those the
// encoder of neighbours.
#include "ckpt/torch/megatron_builder.h"

namespace megalith {

TensorMapping MegatronBuilder::build_retro() {
  const i64 h = m_.hidden_size, positions = m_.max_position_embeddings;
  whole("embedding.word_embeddings.weight", {rows_, h}, {m_.vocab_size, h});
  if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
    whole("embedding.position_embeddings.weight", {positions, h}, {positions, h});
  bool has_encoder = false;
  for (layer_ = 0; layer_ < m_.num_layers; ++layer_) {
    add_layer();
    if (!RetroModelConfig::attends(layer_, m_.num_layers)) continue;
    add_cross_attention("cross_attention.attn.");
    if (!has_encoder) add_neighbor_encoder();
    has_encoder = true;
  }
  if (!m_.retro.no_final_layernorm) {
    whole("decoder.final_layernorm.weight", {h}, {h});
    if (has_norm_bias()) whole("decoder.final_layernorm.bias", {h}, {h});
  }
  if (m_.untie_embeddings_and_output_weights) whole("output_layer.weight", {rows_, h}, {m_.vocab_size, h});
  return std::move(map_);
}

// Of the layer that is being added.
void MegatronBuilder::add_neighbor_encoder() {
  const std::string stack = stack_;
  const i64 layer = layer_;
  stack_ = place() + "cross_attention.encoder";
  for (layer_ = 0; layer_ < m_.retro.encoder_layers; ++layer_) {
    has_own_mlp_norm_ = layer_ == 0;
    add_layer();
    if (layer_ == 0) add_cross_attention("cross_attention.attn.");
  }
  stack_ = stack, layer_ = layer, has_own_mlp_norm_ = false;
}

}  // namespace megalith
