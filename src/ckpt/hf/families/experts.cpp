// The settings of experts in config.json, with the keys of qwen2_moe and its descendants.
#include <algorithm>

#include "ckpt/hf/families/parts.h"

namespace megalith {

using nlohmann::json;

// Layer i has experts if mlp_only_layers does not list it and (i + 1) is a multiple of decoder_sparse_step.
static std::string read_layers(const JsonFields& f, i64 layers) {
  const i64 step = f.size({"decoder_sparse_step"}, 1);
  const json* dense = f.find({"mlp_only_layers"});
  if (dense != nullptr && !dense->is_array()) f.want({"mlp_only_layers"}, *dense, "a list of layers");
  std::string list;
  bool all = true;
  for (i64 i = 0; i < layers; ++i) {
    const bool listed = dense != nullptr && std::ranges::find(*dense, json(i)) != dense->end();
    const bool mixture = !listed && (i + 1) % step == 0;
    all &= mixture;
    list += mixture ? ",1" : ",0";
  }
  return all ? "1" : "[" + list.substr(1) + "]";
}

void read_experts(const JsonFields& f, ModelConfig& m, const ExpertDefaults& defaults) {
  m.moe.num_experts = f.size({"num_experts", "num_local_experts"}, defaults.experts);
  m.moe.router_topk = f.size({"num_experts_per_tok"}, defaults.topk);
  m.moe.ffn_hidden_size = f.size({"moe_intermediate_size"}, defaults.width);
  m.moe.router_pre_softmax = !f.flag({"norm_topk_prob"}, false);
  check(m.num_layers <= 100000, "{}: {} layers: no such model fits any machine", f.where(), m.num_layers);
  m.moe.layer_freq = read_layers(f, m.num_layers);
}

void write_experts(const ModelConfig& m, nlohmann::ordered_json& j) {
  j["num_experts"] = m.moe.num_experts;
  j["num_experts_per_tok"] = m.moe.router_topk;
  j["moe_intermediate_size"] = m.expert_width();
  j["norm_topk_prob"] = !m.moe.router_pre_softmax;
  j["decoder_sparse_step"] = 1;
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  j["mlp_only_layers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < mixtures.size(); ++i)
    if (!mixtures[i]) j["mlp_only_layers"].push_back(i);
}

}  // namespace megalith
