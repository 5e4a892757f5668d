// Qwen 2 with experts, and a gated shared expert.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::qwen2_moe {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 16, .max_position_embeddings = 32768});
  m.add_qkv_bias = f.flag({"qkv_bias"}, true);
  m.sliding_window = read_switched_window(f, m.num_layers);
  read_experts(f, m, {.experts = 60, .topk = 4, .width = 1408});
  m.moe.shared_expert_intermediate_size = f.size({"shared_expert_intermediate_size"}, 5632);
  m.moe.shared_expert_gate = true;
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  write_switched_window(m, j);
  write_experts(m, j);
  check(m.moe.shared_expert_intermediate_size > 0, "[hf] qwen2_moe needs a shared expert");
  j["shared_expert_intermediate_size"] = m.moe.shared_expert_intermediate_size;
  j["qkv_bias"] = m.qkv_bias();
}

extern const HfFamily family;
const HfFamily family = {.name = "qwen2_moe", .architecture = "Qwen2MoeForCausalLM", .read = read, .write = write};

}  // namespace megalith::families::qwen2_moe
