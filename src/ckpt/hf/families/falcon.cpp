// Falcon, of the first architecture (7B) and the new one (40B).
#include "ckpt/hf/families/parts.h"

namespace megalith::families::falcon {

static void read(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"n_embed", "hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"ffn_hidden_size"}, 4 * m.hidden_size);
  const bool grouped = f.flag({"new_decoder_architecture"}, false), parallel = f.flag({"parallel_attn"}, true);
  const i64 one = f.flag({"multi_query"}, true) ? 1 : m.num_attention_heads;
  read_heads(f, m, grouped ? f.size({"num_kv_heads"}, m.num_attention_heads) : one);
  const i64 norms = f.size({"num_ln_in_parallel_attn"}, grouped ? 2 : 1);
  check(!grouped || parallel, "{}: parallel_attn = false with new_decoder_architecture is not supported", f.where());
  check(norms == 1 || (norms == 2 && grouped), "{}: num_ln_in_parallel_attn = {} is not supported here; {} is",
        f.where(), norms, grouped ? "1 or 2" : "1");
  m.parallel_residual = parallel;
  m.parallel_shared_norm = parallel && norms == 1;
  m.add_bias_linear = f.flag({"bias"}, false);
  f.require("apply_residual_connection_post_layernorm", false, false);
  m.max_position_embeddings = f.size({"max_position_embeddings"}, 2048);
  m.activation = read_activation(f, "activation", "gelu");
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
  if (f.flag({"alibi"}, false))
    m.position_embedding_type = PositionEmbedding::alibi, m.scale_alibi = true;
  else
    read_rope(f, m);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  const bool two_norms = m.parallel_residual && !m.parallel_shared_norm;
  const bool grouped = two_norms || (m.num_query_groups != 1 && m.num_query_groups != m.num_attention_heads);
  j["hidden_size"] = m.hidden_size;
  j["ffn_hidden_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["num_kv_heads"] = m.num_query_groups;
  j["new_decoder_architecture"] = grouped;
  j["multi_query"] = m.num_query_groups == 1;
  j["parallel_attn"] = m.parallel_residual;
  j["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
  j["bias"] = m.add_bias_linear;
  const bool alibi = m.position_embedding_type == PositionEmbedding::alibi;
  j["alibi"] = alibi;
  j["activation"] = gelu_name(m.activation);
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["layer_norm_epsilon"] = m.norm_epsilon;
  if (!alibi) j["rope_theta"] = m.rotary_base, j["rope_scaling"] = rope_scaling(m);
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

static HfNames names(const ModelConfig& m) {
  HfNames n{.prefix = "transformer.", .embedding = "word_embeddings", .final_norm = "ln_f", .layers = "h."};
  if (m.parallel_residual && !m.parallel_shared_norm) n.input_norm = "ln_attn", n.mlp_norm = "ln_mlp";
  n.qkv = "self_attention.query_key_value", n.proj = "self_attention.dense";
  n.fc1 = "mlp.dense_h_to_4h", n.fc2 = "mlp.dense_4h_to_h";
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "falcon",
                         .architecture = "FalconForCausalLM",
                         .ids = {.bos = 11, .eos = 11},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::falcon
