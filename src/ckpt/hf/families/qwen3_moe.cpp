// Qwen 3 with experts.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::qwen3_moe {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 4, .max_position_embeddings = 32768});
  m.qk_layernorm = true;
  m.add_attention_bias = f.flag({"attention_bias"}, false);
  m.sliding_window = read_switched_window(f, m.num_layers);
  read_experts(f, m, {.experts = 128, .topk = 8, .width = 768});
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  write_switched_window(m, j);
  write_experts(m, j);
  j["attention_bias"] = m.attention_bias();
}

extern const HfFamily family;
const HfFamily family = {.name = "qwen3_moe", .architecture = "Qwen3MoeForCausalLM", .read = read, .write = write};

}  // namespace megalith::families::qwen3_moe
