#include "ckpt/torch/unbuilt_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"

namespace megalith {
namespace {

using Kind = PickleValue::Kind;

struct Argument {
  const char* name;
  const char* usual = nullptr;  // a value with no effect, like None, False, 0 and lists of them
};

// All names, past and present, of Megatron-LM's command line and TransformerConfig. Excluded are arguments that change
// only precision, speed or distribution over ranks. Also excluded are arguments that matter only together with one of
// these.
constexpr Argument kArguments[] = {
    // Layers
    {"heterogeneous_layers_config_path"},
    {"heterogeneous_layers_config_encoded_json"},
    {"enable_mhc_connections"},
    {"enable_hyper_connections"},
    {"apply_residual_connection_post_layernorm"},
    {"is_hybrid_model"},
    {"hybrid_layer_pattern"},
    {"hybrid_override_pattern"},
    {"retro_add_retriever"},
    {"spec", "[megatron.core.models.gpt.gpt_layer_specs"},
    // Norms
    {"qk_l2_norm"},
    // Attention
    {"experimental_attention_variant"},
    {"linear_attention_type"},
    {"linear_attention_freq"},
    {"attention_output_gate"},
    {"softmax_type", "vanilla"},
    {"softmax_scale"},
    {"window_attn_skip_freq"},
    {"no_rope_freq"},
    // MLP
    {"glu_linear_offset"},
    {"activation_func_clamp_value"},
    // Factors on the embedding, the logits and the scores
    {"use_mup"},
    // Weights of other types than their names say
    {"fp8_param_gather"},
};

bool is_nothing(const PickleValue& v) {
  if (const auto* items = v.sequence())
    return std::ranges::all_of(*items,
                               [](const PickleValue* i) { return i->kind == Kind::integer && i->integer == 0; });
  return v.is_none() || ((v.kind == Kind::boolean || v.kind == Kind::integer) && v.integer == 0) ||
         (v.kind == Kind::real && v.real == 0) || (v.kind == Kind::text && v.text.empty());
}

std::string text_of(const PickleValue& v) {
  constexpr std::size_t kShown = 60;
  if (v.kind == Kind::integer) return std::to_string(v.integer);
  if (v.kind == Kind::real) return fmt::format("{}", v.real);
  if (v.kind == Kind::text) return v.text.substr(0, kShown);
  const auto* items = v.sequence();
  if (items == nullptr) return v.describe();
  std::string text;
  for (std::size_t i = 0; i < items->size() && text.size() < kShown; ++i) {
    const PickleValue& item = *(*items)[i];
    text += (i > 0 ? ", " : "") + (item.sequence() != nullptr ? item.describe() : text_of(item));
  }
  return "[" + text + (text.size() < kShown ? "]" : ", ...]");
}

}  // namespace

void refuse_unbuilt(const PickleValue& args) {
  std::vector<std::string> found;
  for (const Argument& a : kArguments) {
    const PickleValue* v = args.find(a.name);
    if (v == nullptr || is_nothing(*v)) continue;
    const std::string text = text_of(*v);
    if (a.usual == nullptr || !text.starts_with(a.usual)) found.push_back(fmt::format("{} {}", a.name, text));
  }
  check(found.empty(), "[megatron] the model was trained with {}: no model here is built so", fmt::join(found, ", "));
}

}  // namespace megalith
