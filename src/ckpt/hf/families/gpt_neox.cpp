// GPT-NeoX and Pythia.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::gpt_neox {

static void read(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"intermediate_size"});
  read_heads(f, m, m.num_attention_heads);
  // transformers rotates this many dims of each head, but heads have hidden_size / num_attention_heads dims.
  const i64 width = f.size({"head_dim"}, m.kv_channels);
  check(width == m.kv_channels,
        "{}: head_dim = {} is not supported; here only hidden_size / num_attention_heads, {}, is", f.where(), width,
        m.kv_channels);
  m.max_position_embeddings = f.size({"max_position_embeddings"}, 2048);
  m.activation = read_activation(f, "hidden_act", "gelu");
  m.norm_epsilon = f.positive({"layer_norm_eps"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, false);
  m.parallel_residual = f.flag({"use_parallel_residual"}, true);
  f.require("attention_bias", true, true);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
  read_rope(f, m, {"rotary_emb_base", "rotary_pct", 0.25, true});
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["intermediate_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["hidden_act"] = gelu_name(m.activation);
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["layer_norm_eps"] = m.norm_epsilon;
  j["rotary_emb_base"] = m.rotary_base;
  j["rotary_pct"] = m.rotary_percent;
  j["rope_scaling"] = rope_scaling(m);
  j["use_parallel_residual"] = m.parallel_residual;
  j["attention_bias"] = true;
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

static HfNames names(const ModelConfig&) {
  HfNames n{.prefix = "gpt_neox.", .head = "embed_out", .embedding = "embed_in", .final_norm = "final_layer_norm"};
  n.qkv = "attention.query_key_value", n.proj = "attention.dense";
  n.fc1 = "mlp.dense_h_to_4h", n.fc2 = "mlp.dense_4h_to_h";
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "gpt_neox",
                         .architecture = "GPTNeoXForCausalLM",
                         .ids = {.bos = 0, .eos = 2},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::gpt_neox
