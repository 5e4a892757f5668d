// The objects that transformer-engine's modules look for.
#include <fmt/format.h>

#include <algorithm>

#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_mapping.h"

namespace megalith {
namespace {

struct Module {
  std::string name;
  bool of_experts = false;  // one of each expert
};

std::vector<Module> mixture_modules(const ModelConfig& m) {
  std::vector<Module> out = {{"pre_mlp_layernorm"}};
  if (m.moe.latent_size > 0) out.insert(out.end(), {{"mlp.fc1_latent_proj"}, {"mlp.fc2_latent_proj"}});
  for (const char* name : {"linear_fc1", "linear_fc2"}) {
    out.push_back({std::string("mlp.experts.experts.") + name, true});
    if (m.moe.shared_expert_intermediate_size > 0) out.push_back({std::string("mlp.shared_experts.") + name});
  }
  return out;
}

std::vector<Module> modules_of(const ModelConfig& m, bool mixture) {
  std::vector<Module> modules = {{"self_attention.linear_qkv"}};
  if (m.mla.on()) {
    modules = {{"input_layernorm"}, {"self_attention.linear_kv_down_proj"}, {"self_attention.linear_kv_up_proj"}};
    if (m.mla.q_lora_rank)
      modules.insert(modules.end(), {{"self_attention.linear_q_down_proj"}, {"self_attention.linear_q_up_proj"}});
    else
      modules.push_back({"self_attention.linear_q_proj"});
  }
  modules.push_back({"self_attention.linear_proj"});
  const std::vector<Module> mlp =
      mixture ? mixture_modules(m) : std::vector<Module>{{"mlp.linear_fc1"}, {"mlp.linear_fc2"}};
  modules.insert(modules.end(), mlp.begin(), mlp.end());
  if (m.qk_layernorm && !m.mla.on())
    modules.insert(modules.end(), {{"self_attention.q_layernorm"}, {"self_attention.k_layernorm"}});
  return modules;
}

class ExtraStates {
 public:
  explicit ExtraStates(const ModelConfig& m) : m_(m) {}

  // `layer`: of layers stacked; -1 where it is in the module's name.
  void stack(i64 layers) { layers_ = layers; }
  void add(const std::string& place, const Module& module, i64 layer) {
    const std::string name = place + module.name + "._extra_state/shard_";
    const bool stacked = layer >= 0;
    if (!module.of_experts)
      return names_.push_back(stacked ? fmt::format("{}{}_{}", name, layer, layers_) : name + "0_1");
    const i64 e = m_.moe.num_experts;
    for (i64 i = 0; i < e; ++i)
      names_.push_back(stacked ? fmt::format("{}{}.{}_{}.{}", name, layer, i, layers_, e)
                               : fmt::format("{}{}_{}", name, i, e));
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  const ModelConfig& m_;
  i64 layers_ = m_.num_layers;
  std::vector<std::string> names_;
};

void add_encoder_decoder(const ModelConfig& m, ExtraStates& all) {
  std::vector<Module> modules = modules_of(m, false);
  const auto add_stack = [&](const std::string& stack, i64 layers) {
    all.stack(layers);
    for (const Module& module : modules)
      for (i64 n = 0; n < layers; ++n) all.add(stack + ".layers.", module, n);
    all.add(stack + ".", {"final_layernorm"}, -1);
  };
  add_stack("encoder", m.num_layers);
  for (const char* name : {"pre_cross_attn_layernorm", "cross_attention.linear_q", "cross_attention.linear_kv",
                           "cross_attention.linear_proj"})
    modules.push_back({name});
  add_stack("decoder", m.t5.decoder_num_layers);
  for (const char* name : {"lm_head.output_layer", "output_layer"}) all.add("", {name}, -1);
}

}  // namespace

std::vector<std::string> extra_state_names(const ModelConfig& m) {
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  const bool last = !mixtures.empty() && mixtures.back();
  ExtraStates all(m);
  const bool bert = m.architecture == Architecture::bert;
  const std::string stack = bert ? "encoder." : "decoder.";
  if (m.is_t5()) {
    add_encoder_decoder(m, all);
    return all.take();
  }
  if (megatron_layers(m) == MegatronLayers::stacked) {
    for (const Module& module : modules_of(m, last))
      for (i64 n = 0; n < m.num_layers; ++n) all.add(stack + "layers.", module, n);
  } else {
    for (i64 n = 0; n < m.num_layers; ++n)
      for (const Module& module : modules_of(m, mixtures[std::size_t(n)]))
        all.add(fmt::format("{}layers.{}.", stack, n), module, -1);
  }
  all.add(stack, {"final_layernorm"}, -1);
  if (bert) all.add("", {"output_layer"}, -1);
  for (i64 n = 0; n < m.mtp.modules(); ++n) {
    const std::string place = fmt::format("mtp.layers.{}.", n);
    for (const char* own : {"enorm", "hnorm", "eh_proj", "final_layernorm"}) all.add(place, {own}, -1);
    for (const Module& module : modules_of(m, last)) all.add(place + "transformer_layer.", module, -1);
  }
  return all.take();
}

}  // namespace megalith
