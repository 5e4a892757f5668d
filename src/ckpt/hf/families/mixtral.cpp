// Mixtral: every layer has experts, of the width of the MLP; the weights of a token's experts are a softmax of theirs.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::mixtral {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 8, .max_position_embeddings = 131072, .norm_epsilon = 1e-5});
  read_rope(f, m, {.default_base = 1e6});
  m.sliding_window = f.count({"sliding_window"}, 0);
  m.moe.num_experts = f.size({"num_local_experts"}, 8);
  m.moe.router_topk = f.size({"num_experts_per_tok"}, 2);
  check(f.number({"router_jitter_noise"}, 0) == 0, "{}: router_jitter_noise is not supported; only 0 is", f.where());
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  j["intermediate_size"] = m.expert_width();
  j["sliding_window"] = m.sliding_window > 0 ? nlohmann::ordered_json(m.sliding_window) : nlohmann::ordered_json();
  j["num_local_experts"] = m.moe.num_experts;
  j["num_experts_per_tok"] = m.moe.router_topk;
}

static HfNames names(const ModelConfig&) {
  return {.router = "block_sparse_moe.gate",
          .experts = "block_sparse_moe.experts.",
          .expert_gate = "w1",
          .expert_up = "w3",
          .expert_fc2 = "w2"};
}

extern const HfFamily family;
const HfFamily family = {.name = "mixtral",
                         .architecture = "MixtralForCausalLM",
                         .ids = {.bos = 1, .eos = 2},
                         .read = read,
                         .write = write,
                         .names = names};

}  // namespace megalith::families::mixtral
