// Qwen 3, dense.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::qwen3 {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 32, .head_width = 128, .max_position_embeddings = 32768});
  m.qk_layernorm = true;
  m.add_attention_bias = f.flag({"attention_bias"}, false);
  m.sliding_window = read_switched_window(f, m.num_layers);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  write_switched_window(m, j);
  j["attention_bias"] = m.attention_bias();
}

extern const HfFamily family;
const HfFamily family = {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .read = read, .write = write};

}  // namespace megalith::families::qwen3
