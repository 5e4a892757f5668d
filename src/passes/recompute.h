// Recomputation of activations: parts of the forward run again right before their backward, from the part's saved
// inputs. So what they compute is not kept in between. Megatron's flags and meanings.
#pragma once
#include "passes/pass.h"

namespace megalith {

struct RecomputeConfig {
  enum class Granularity { none, selective, full };
  enum class Method { none, uniform, block };
  Granularity granularity = Granularity::none;
  // full: layers in chunks of num_layers, each chunk's input kept (uniform); or the first num_layers layers one by one,
  // the others as ever (block).
  Method method = Method::none;
  i64 num_layers = 0;
  // selective: "mlp": from the norm's result; "layernorm": the results of the norms before attention and MLP;
  // "core_attn": nothing to do, because attention here never keeps its s x s matrix; "mla_up_proj": queries, keys and
  // values of multi-head latent attention, from the latents. "moe": a mixture of experts from the norm's result, with
  // the choice of experts, which stays the same; "shared_experts": only the shared ones; "moe_act": the outputs of
  // experts' activations.
  std::vector<std::string> modules;

  bool recomputes(const std::string& module) const;
  bool operator==(const RecomputeConfig&) const = default;
};

// The pass. It runs last: recomputed nodes are copies of the forward after all other passes, so results are
// bit-identical. They are inserted directly before their first use. Origins and op kinds identify the nodes.
Pass recompute_pass(const RecomputeConfig& config);

}  // namespace megalith
