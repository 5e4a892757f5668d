// The small models of settings.h.
#include "tests/models/settings.h"

namespace megalith::harness {

ModelConfig llama_like() {
  ModelConfig c;
  c.num_layers = 2, c.hidden_size = 16, c.ffn_hidden_size = 24, c.num_attention_heads = 8, c.num_query_groups = 2;
  c.kv_channels = 4, c.seq_length = c.max_position_embeddings = 16, c.vocab_size = 50, c.padded_vocab_size = 52;
  c.position_embedding_type = PositionEmbedding::rope;
  c.activation = Activation::swiglu, c.normalization = Normalization::rms_norm;
  c.add_bias_linear = false, c.untie_embeddings_and_output_weights = true;
  return c;
}

ModelConfig mla_like() {
  ModelConfig c = llama_like();
  c.num_attention_heads = c.num_query_groups = 4, c.qk_layernorm = true, c.mla = {true, 10, 6, 5, 4, 3, 1e-6};
  c.rope_scaling = {.kind = RopeScaling::Kind::yarn, .factor = 4, .original_length = 8, .beta_fast = 4};
  c.rope_scaling.mscale = 0.8, c.rope_scaling.mscale_all_dim = 0.6;
  return c;
}

ModelConfig gpt2_like() {
  ModelConfig c;
  c.num_layers = 2, c.hidden_size = 16, c.ffn_hidden_size = 24, c.num_attention_heads = 4, c.num_query_groups = 4;
  c.kv_channels = 4, c.seq_length = c.max_position_embeddings = 16, c.vocab_size = 50, c.padded_vocab_size = 52;
  c.attention_dropout = c.hidden_dropout = 0.1;
  return c;
}

ModelConfig bert_like() {
  ModelConfig c = gpt2_like();
  c.architecture = Architecture::bert, c.bert.token_types = 2;
  return c;
}

ModelConfig t5_megatron() {
  ModelConfig c = gpt2_like();
  c.architecture = Architecture::t5, c.t5.decoder_seq_length = 8, c.t5.decoder_num_layers = 2;
  return c;
}

ModelConfig t5_v10() {
  ModelConfig c = t5_megatron();
  c.position_embedding_type = PositionEmbedding::relative, c.activation = Activation::relu;
  c.normalization = Normalization::rms_norm, c.add_bias_linear = false;
  c.attention_dropout = c.hidden_dropout = 0;
  c.t5.relative_attention_num_buckets = 8, c.t5.relative_attention_max_distance = 10;
  c.t5.unscaled_attention = c.t5.scale_decoder_outputs = c.t5.no_head_bias = true;
  return c;
}

ModelConfig t5_v11() {
  ModelConfig c = t5_v10();
  c.activation = Activation::geglu, c.untie_embeddings_and_output_weights = true;
  c.t5.scale_decoder_outputs = false, c.t5.decoder_num_layers = 3;
  return c;
}

ModelConfig retro_gpt2() {
  ModelConfig c = gpt2_like();
  c.architecture = Architecture::retro, c.num_layers = 9, c.hidden_size = 8, c.ffn_hidden_size = 12, c.kv_channels = 2;
  c.retro = {.add_retriever = true, .chunk_length = 4, .encoder_hidden_dropout = 0.1, .encoder_attention_dropout = 0.2};
  return c;
}

ModelConfig retro_llama() {
  ModelConfig c = llama_like();
  c.architecture = Architecture::retro, c.num_layers = 6, c.hidden_size = 8, c.ffn_hidden_size = 12, c.kv_channels = 2;
  c.retro = {.add_retriever = true,
             .chunk_length = 8,
             .num_neighbors = 3,
             .num_retrieved_chunks = 1,
             .encoder_layers = 1,
             .no_final_layernorm = true};
  return c;
}

ModelConfig mixture() {
  ModelConfig c = llama_like();
  c.moe.num_experts = 8, c.moe.ffn_hidden_size = 12;
  return c;
}

}  // namespace megalith::harness
