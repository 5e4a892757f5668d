// Experts of a mixture.
#include "ckpt/hf/hf_builder.h"

namespace megalith {

// A shared expert, which has no biases.
void HfBuilder::add_gated_mlp(const MlpNames& their, const std::string& our, i64 f) {
  const i64 h = m_.hidden_size;
  for (const i64 half : {0, 1}) {
    Strides weight = Strides::flat(f * h);
    weight.our_start = half * f * h;
    link(theirs((half == 0 ? their.gate : their.up) + ".weight", {f, h}), ours(our + "linear_fc1.weight", {2, f, h}),
         weight);
  }
  flat(their.fc2 + ".weight", {h, f}, our + "linear_fc2.weight", {h, f});
}

void HfBuilder::add_experts(const std::string& layer, const std::string& our) {
  check(m_.gated() && !m_.mlp_bias(), "[hf] experts that are not gated, or have biases, have no names here");
  const i64 e = m_.moe.num_experts, f = m_.expert_width(), h = m_.hidden_size;
  flat(layer + std::string(n_.router) + ".weight", {e, h}, our + "router.weight", {e, h});
  if (m_.moe.router_enable_expert_bias) vector(layer + std::string(n_.router_bias), our + "router.expert_bias", e);
  const std::string experts = layer + std::string(n_.experts);
  if (n_.fused_experts) {
    add_fused_experts(experts, our + "experts.");
  } else {
    const std::size_t fc1 = ours(our + "experts.linear_fc1.weight", {e, 2, f, h});
    const std::size_t fc2 = ours(our + "experts.linear_fc2.weight", {e, h, f});
    for (i64 i = 0; i < e; ++i) {
      const std::string expert = experts + std::to_string(i) + ".";
      const auto part = [&](std::string_view name, const Shape& shape, std::size_t our_tensor, i64 start) {
        Strides block = Strides::flat(f * h);
        block.our_start = start;
        link(theirs(expert + std::string(name) + ".weight", shape), our_tensor, block);
      };
      part(n_.expert_gate, {f, h}, fc1, 2 * i * f * h);
      part(n_.expert_up, {f, h}, fc1, (2 * i + 1) * f * h);
      part(n_.expert_fc2, {h, f}, fc2, i * f * h);
    }
  }
  const i64 shared = m_.moe.shared_expert_intermediate_size;
  if (shared == 0) return;
  const std::string name = layer + std::string(n_.shared_expert);
  add_gated_mlp({name + "gate_proj", name + "up_proj", name + "down_proj"}, our + "shared_experts.", shared);
  if (m_.moe.shared_expert_gate)
    flat(layer + std::string(n_.shared_gate) + ".weight", {1, h}, our + "shared_experts.gate_weight", {1, h});
}

void HfBuilder::add_fused_experts(const std::string& experts, const std::string& our) {
  const i64 e = m_.moe.num_experts, f = m_.expert_width(), h = m_.hidden_size;
  flat(experts + "gate_up_proj", {e, 2 * f, h}, our + "linear_fc1.weight", {e, 2, f, h});
  flat(experts + "down_proj", {e, h, f}, our + "linear_fc2.weight", {e, h, f});
}

}  // namespace megalith
