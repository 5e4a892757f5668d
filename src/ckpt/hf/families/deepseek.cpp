// DeepSeek-V2 and V3: multi-head latent attention, and mixtures of experts after the first dense layers. V3's modules
// of multi-token prediction are layers after the last one.
#include <algorithm>

#include "ckpt/hf/families/parts.h"

namespace megalith::families {
namespace deepseek {

using nlohmann::ordered_json;

static void read_latent_attention(const JsonFields& f, MlaConfig& mla) {
  mla.multi_latent_attention = true;
  mla.q_lora_rank = f.absent("q_lora_rank") ? 1536 : f.count({"q_lora_rank"}, 0);
  mla.kv_lora_rank = f.size({"kv_lora_rank"}, 512);
  mla.qk_head_dim = f.size({"qk_nope_head_dim"}, 128);
  mla.qk_pos_emb_head_dim = f.size({"qk_rope_head_dim"}, 64);
  mla.v_head_dim = f.size({"v_head_dim"}, 128);
  mla.norm_epsilon = 1e-6;  // for any rms_norm_eps
}

static void read_attention_and_sizes(const JsonFields& f, ModelConfig& m, i64 max_position_embeddings) {
  require_silu(f);
  const i64 heads = f.size({"num_attention_heads"});
  read_latent_attention(f, m.mla);
  m.qk_layernorm = true;
  const i64 width = m.mla.head();
  read_llama_like(f, m, {.groups = heads, .head_width = width, .max_position_embeddings = max_position_embeddings});
  m.kv_channels = width;
  check(m.num_query_groups == heads, "{}: num_key_value_heads = {} is not supported; only {}, one for each head, is",
        f.where(), m.num_query_groups, heads);
  for (const char* bias : {"attention_bias", "mlp_bias"}) f.require(bias, false, false);
}

struct DeepseekExperts {
  i64 dense, experts, topk, width, shared;  // dense: layers without experts, the first ones
};

static void read_mixtures(const JsonFields& f, ModelConfig& m, const DeepseekExperts& defaults) {
  const i64 dense = std::min(f.count({"first_k_dense_replace"}, defaults.dense), m.num_layers);
  check(f.count({"moe_layer_freq"}, 1) == 1, "{}: moe_layer_freq is not supported; only 1 is", f.where());
  MoeConfig& e = m.moe;
  if (dense == m.num_layers) return;
  e.num_experts = f.size({"n_routed_experts"}, defaults.experts);
  e.router_topk = f.size({"num_experts_per_tok"}, defaults.topk);
  e.ffn_hidden_size = f.size({"moe_intermediate_size"}, defaults.width);
  e.shared_expert_intermediate_size = e.ffn_hidden_size * f.count({"n_shared_experts"}, defaults.shared);
  e.layer_freq = dense == 0 ? "1" : fmt::format("([0]*{}+[1]*{})", dense, m.num_layers - dense);
}

// `best`: the number of experts in a group's score.
static void read_expert_groups(const JsonFields& f, MoeConfig& e, i64 groups, i64 chosen, i64 best) {
  groups = f.count({"n_group"}, groups), chosen = f.count({"topk_group"}, chosen);
  if (groups <= 1 || e.num_experts == 0) return;
  e.router_num_groups = groups, e.router_group_topk = chosen, e.router_group_best = best;
}

static void read_v2(const JsonFields& f, ModelConfig& m) {
  read_attention_and_sizes(f, m, 2048);
  read_mixtures(f, m, {.dense = 0, .experts = 64, .topk = 0, .width = 1407, .shared = 2});
  if (m.moe.num_experts == 0) return;
  m.moe.router_pre_softmax = true;
  m.moe.router_topk_scaling_factor = f.positive({"routed_scaling_factor"}, 1);
  f.require("norm_topk_prob", false, false);
  const std::string method = f.text({"topk_method"}, "greedy"), scores = f.text({"scoring_func"}, "softmax");
  check(
      (method == "greedy" || method == "group_limited_greedy") && scores == "softmax",
      "{}: topk_method \"{}\" with scoring_func \"{}\" is not supported; greedy and group_limited_greedy with softmax "
      "are",
      f.where(), method, scores);
  if (method == "group_limited_greedy") read_expert_groups(f, m.moe, 1, 1, 1);
}

static void read_v3(const JsonFields& f, ModelConfig& m) {
  read_attention_and_sizes(f, m, 4096);
  f.require("rope_interleave", true, true);
  m.mtp.num_layers = f.count({"num_nextn_predict_layers"}, 1);
  read_mixtures(f, m, {.dense = 3, .experts = 256, .topk = 8, .width = 2048, .shared = 1});
  if (m.moe.num_experts == 0) return;
  m.moe.router_score_function = RouterScore::sigmoid, m.moe.router_enable_expert_bias = true;
  m.moe.router_topk_scaling_factor = f.positive({"routed_scaling_factor"}, 2.5);
  f.require("norm_topk_prob", true, true);
  const std::string scores = f.text({"scoring_func"}, "sigmoid");
  check(scores == "sigmoid", "{}: scoring_func \"{}\" is not supported; only sigmoid is", f.where(), scores);
  read_expert_groups(f, m.moe, 8, 4, 2);
}

static void write(const ModelConfig& m, ordered_json& j) {
  check(m.mla.on(), "[hf] DeepSeek's models have multi-head latent attention");
  const MlaConfig& mla = m.mla;
  write_llama_like(m, j);
  j["head_dim"] = mla.qk_pos_emb_head_dim;
  j["q_lora_rank"] = mla.q_lora_rank ? ordered_json(mla.q_lora_rank) : nullptr;
  j["kv_lora_rank"] = mla.kv_lora_rank;
  j["qk_nope_head_dim"] = mla.qk_head_dim, j["qk_rope_head_dim"] = mla.qk_pos_emb_head_dim;
  j["v_head_dim"] = mla.v_head_dim;
  j["attention_bias"] = false;
  const MoeConfig& e = m.moe;
  const std::vector<bool> mixtures = e.pattern(m.num_layers);
  const auto first = std::ranges::find(mixtures, true);
  j["first_k_dense_replace"] = mixtures.empty() ? m.num_layers : i64(first - mixtures.begin());
  if (e.num_experts == 0) return;
  const i64 width = m.expert_width(), shared = e.shared_expert_intermediate_size;
  check(shared % width == 0, "[hf] a shared expert {} wide is no multiple of an expert's {}", shared, width);
  j["n_routed_experts"] = e.num_experts, j["num_experts_per_tok"] = e.router_topk;
  j["moe_intermediate_size"] = width;
  j["n_shared_experts"] = shared > 0 ? ordered_json(shared / width) : nullptr;
  j["routed_scaling_factor"] = e.router_topk_scaling_factor.value_or(1);
  j["n_group"] = std::max<i64>(1, e.router_num_groups), j["topk_group"] = std::max<i64>(1, e.router_group_topk);
}

static void write_v2(const ModelConfig& m, ordered_json& j) {
  write(m, j);
  j["topk_method"] = m.moe.router_num_groups > 1 ? "group_limited_greedy" : "greedy";
  j["norm_topk_prob"] = false;
}

static void write_v3(const ModelConfig& m, ordered_json& j) {
  write(m, j);
  j["rope_interleave"] = true, j["norm_topk_prob"] = true, j["num_nextn_predict_layers"] = m.mtp.num_layers;
}

static HfNames names(const ModelConfig&) {
  return {.shared_expert = "mlp.shared_experts.",
          .embedding_input_norm = "enorm",
          .stream_input_norm = "hnorm",
          .input_projection = "eh_proj",
          .module_output_norm = "shared_head.norm"};
}

}  // namespace deepseek

namespace deepseek_v2 {
extern const HfFamily family;
const HfFamily family = {.name = "deepseek_v2",
                         .architecture = "DeepseekV2ForCausalLM",
                         .ids = {.bos = 1, .eos = 2},
                         .read = deepseek::read_v2,
                         .write = deepseek::write_v2,
                         .names = deepseek::names};
}  // namespace deepseek_v2

namespace deepseek_v3 {
extern const HfFamily family;
const HfFamily family = {.name = "deepseek_v3",
                         .architecture = "DeepseekV3ForCausalLM",
                         .ids = {.bos = 0, .eos = 1},
                         .read = deepseek::read_v3,
                         .write = deepseek::write_v3,
                         .names = deepseek::names};
}  // namespace deepseek_v3

}  // namespace megalith::families
