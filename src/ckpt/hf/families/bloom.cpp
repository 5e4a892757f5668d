// BLOOM.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::bloom {

static void read(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"n_embed", "hidden_size"});
  m.num_layers = f.size({"num_hidden_layers", "n_layer"});
  m.num_attention_heads = f.size({"num_attention_heads", "n_head"});
  m.ffn_hidden_size = 4 * m.hidden_size;
  read_heads(f, m, m.num_attention_heads);
  m.max_position_embeddings = f.size({"seq_length"}, 2048);
  m.position_embedding_type = PositionEmbedding::alibi;
  m.activation = Activation::gelu_tanh;
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.embedding_layernorm = true;
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  f.require("apply_residual_connection_post_layernorm", false, false);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["n_layer"] = m.num_layers;
  j["n_head"] = m.num_attention_heads;
  j["seq_length"] = m.max_position_embeddings;
  j["layer_norm_epsilon"] = m.norm_epsilon;
  j["apply_residual_connection_post_layernorm"] = false;
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

static HfNames names(const ModelConfig&) {
  HfNames n{.prefix = "transformer.", .embedding = "word_embeddings", .final_norm = "ln_f", .layers = "h."};
  n.embedding_norm = "word_embeddings_layernorm";
  n.qkv = "self_attention.query_key_value", n.proj = "self_attention.dense";
  n.fc1 = "mlp.dense_h_to_4h", n.fc2 = "mlp.dense_4h_to_h";
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "bloom",
                         .architecture = "BloomForCausalLM",
                         .ids = {.bos = 1, .eos = 2},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::bloom
