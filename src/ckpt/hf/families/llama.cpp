// Llama. It has no sliding window.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::llama {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {});
  m.add_attention_bias = f.flag({"attention_bias"}, false);
  m.add_mlp_bias = f.flag({"mlp_bias"}, false);
  m.add_bias_linear = m.add_attention_bias && m.add_mlp_bias;
  if (m.add_bias_linear) m.add_attention_bias = m.add_mlp_bias = false;
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  // LlamaConfig checks this, although the model would not need it.
  check(m.hidden_size % m.num_attention_heads == 0,
        "[hf] llama needs a hidden size ({}) that is a multiple of the heads ({})", m.hidden_size,
        m.num_attention_heads);
  j["attention_bias"] = m.attention_bias(), j["mlp_bias"] = m.mlp_bias();
}

extern const HfFamily family;
const HfFamily family = {
    .name = "llama", .architecture = "LlamaForCausalLM", .ids = {.bos = 1, .eos = 2}, .read = read, .write = write};

}  // namespace megalith::families::llama
