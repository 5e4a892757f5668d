// OLMo 2: norms of the outputs of attention and MLP, and of all queries and all keys.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::olmo2 {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.norm_epsilon = 1e-5});
  m.qk_layernorm = m.qk_layernorm_across_heads = m.norm_block_output = true;
  m.add_attention_bias = f.flag({"attention_bias"}, false);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  j["attention_bias"] = m.attention_bias();
}

static HfNames names(const ModelConfig&) {
  return {.attention_output_norm = "post_attention_layernorm", .mlp_output_norm = "post_feedforward_layernorm"};
}

extern const HfFamily family;
const HfFamily family = {.name = "olmo2",
                         .architecture = "Olmo2ForCausalLM",
                         .ids = {.eos = 50279, .pad = 1},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::olmo2
