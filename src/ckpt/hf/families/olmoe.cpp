// OLMoE: every layer has experts, of the width of the MLP; norms of all queries and all keys.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::olmoe {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.max_position_embeddings = 4096, .norm_epsilon = 1e-5});
  m.qk_layernorm = m.qk_layernorm_across_heads = true;
  m.add_attention_bias = f.flag({"attention_bias"}, false);
  check(!f.has("clip_qkv"), "{}: clip_qkv is not supported; only null is", f.where());
  m.moe.num_experts = f.size({"num_experts"}, 64);
  m.moe.router_topk = f.size({"num_experts_per_tok"}, 8);
  m.moe.router_pre_softmax = !f.flag({"norm_topk_prob"}, false);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  j["intermediate_size"] = m.expert_width();
  j["attention_bias"] = m.attention_bias();
  j["num_experts"] = m.moe.num_experts;
  j["num_experts_per_tok"] = m.moe.router_topk;
  j["norm_topk_prob"] = !m.moe.router_pre_softmax;
}

extern const HfFamily family;
const HfFamily family = {
    .name = "olmoe", .architecture = "OlmoeForCausalLM", .ids = {.eos = 50279, .pad = 1}, .read = read, .write = write};

}  // namespace megalith::families::olmoe
