// Rules about the recomputation of activations: Megatron's, and those of features that are not built.
#include <fmt/ranges.h>

#include <algorithm>

#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;
using Recomputed = RecomputeConfig::Granularity;
using Method = RecomputeConfig::Method;

std::string full_is_told(const Options& o) {
  const RecomputeConfig& r = o.recompute;
  if (r.granularity != Recomputed::full) return {};
  if (r.num_layers >= 1 && r.num_layers <= o.model.num_layers) return {};
  return fmt::format("--recompute-granularity full needs --recompute-num-layers from 1 to --num-layers {}; it is {}",
                     o.model.num_layers, r.num_layers);
}

std::string selective_has_no_layers(const Options& o) {
  const RecomputeConfig& r = o.recompute;
  if (r.granularity != Recomputed::selective || (r.method == Method::none && r.num_layers == 0)) return {};
  return "--recompute-method and --recompute-num-layers are for --recompute-granularity full: leave them out";
}

std::string known_modules(const Options& o) {
  constexpr std::string_view kModules[] = {"core_attn", "mlp",     "layernorm",     "mla_up_proj",
                                           "moe",       "moe_act", "shared_experts"};
  for (const std::string& m : o.recompute.modules)
    if (std::ranges::find(kModules, m) == std::end(kModules))
      return fmt::format("--recompute-modules {}: there is no such part here: {} are there", m,
                         fmt::join(kModules, ", "));
  return {};
}

std::string something_is_recomputed(const Options& o) {
  const RecomputeConfig& r = o.recompute;
  if (r.granularity == Recomputed::none && (r.method != Method::none || r.num_layers != 0))
    return "--recompute-method and --recompute-num-layers have no effect without --recompute-granularity full";
  if (r.granularity != Recomputed::selective && !r.modules.empty())
    return "--recompute-modules has no effect without --recompute-granularity selective";
  return {};
}

std::string core_attention(const Options& o) {
  if (!o.recompute.recomputes("core_attn")) return {};
  return "--recompute-modules core_attn saves nothing: attention computes its matrix again as it is; mlp and layernorm "
         "save memory";
}

std::string up_projections(const Options& o) {
  if (!o.recompute.recomputes("mla_up_proj") || o.model.mla.on()) return {};
  return "--recompute-modules mla_up_proj has no effect without --multi-latent-attention: leave it out";
}

}  // namespace

std::vector<Rule> recompute_rules() {
  return {
      {"full recomputation is of some of the layers", Topic::run, Action::refuse, full_is_told},
      {"selective recomputation has no method and no number of layers", Topic::run, Action::refuse,
       selective_has_no_layers},
      {"recompute-modules are parts of the model", Topic::run, Action::refuse, known_modules},
      {"flags about recomputation come with its granularity", Topic::run, Action::warn, something_is_recomputed},
      {"recompute-modules names modules whose recomputation saves memory", Topic::run, Action::warn, core_attention},
      {"recompute-modules mla_up_proj comes with multi-latent-attention", Topic::run, Action::warn, up_projections},
  };
}

}  // namespace megalith
