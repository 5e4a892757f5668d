// GPT-2.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::gpt2 {

// If a size has two names the common one counts, as in transformers.
static void read(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"hidden_size", "n_embd"});
  m.num_layers = f.size({"num_hidden_layers", "n_layer"});
  m.num_attention_heads = f.size({"num_attention_heads", "n_head"});
  m.ffn_hidden_size = f.size({"n_inner"}, 4 * m.hidden_size);
  read_heads(f, m, m.num_attention_heads);
  m.max_position_embeddings = f.size({"max_position_embeddings", "n_positions"}, 1024);
  m.activation = read_activation(f, "activation_function", "gelu_new");
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  f.require("scale_attn_weights", true, true);
  f.require("scale_attn_by_inverse_layer_idx", false, false);
  m.attention_dropout = f.number({"attn_pdrop"}, 0.1);
  m.hidden_dropout = f.number({"resid_pdrop"}, 0.1);
  const double embedding = f.number({"embd_pdrop"}, 0.1);
  check(embedding == m.hidden_dropout, "{}: embd_pdrop = {} with resid_pdrop = {} is not supported; they must be equal",
        f.where(), embedding, m.hidden_dropout);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  j["n_embd"] = m.hidden_size;
  j["n_inner"] = m.ffn_hidden_size;
  j["n_layer"] = m.num_layers;
  j["n_head"] = m.num_attention_heads;
  j["n_positions"] = m.max_position_embeddings;
  j["activation_function"] = gelu_name(m.activation);
  j["layer_norm_epsilon"] = m.norm_epsilon;
  j["attn_pdrop"] = m.attention_dropout;
  j["resid_pdrop"] = j["embd_pdrop"] = m.hidden_dropout;
}

static HfNames names(const ModelConfig&) {
  HfNames n{.prefix = "transformer.", .embedding = "wte", .positions = "wpe", .final_norm = "ln_f", .layers = "h."};
  n.input_norm = "ln_1", n.mlp_norm = "ln_2";
  n.qkv = "attn.c_attn", n.proj = "attn.c_proj", n.fc1 = "mlp.c_fc", n.fc2 = "mlp.c_proj";
  n.transposed = true;
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "gpt2",
                         .architecture = "GPT2LMHeadModel",
                         .ids = {.bos = 50256, .eos = 50256},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::gpt2
