// MLPs, mixtures of experts and modules of multi-token prediction, as Megatron-LM has them.
#include "ckpt/torch/megatron_builder.h"

namespace megalith {

// Gates, then ups: in one tensor, or in two where each shard of a rank is one (singleton_local_shards).
void MegatronBuilder::add_halves(const std::string& name, const Shape& their_shape, const Shape& our_shape) {
  if (experts_ != MegatronExperts::singleton || !m_.gated()) return flat(name, their_shape, name, our_shape);
  Shape half = their_shape;
  half[0] /= 2;
  runs({{name + "_w", half, 0}, {name + "_v", half, count(half)}}, name, our_shape);
}

void MegatronBuilder::add_mlp(const std::string& name, i64 f, bool bias) {
  const i64 h = m_.hidden_size, halves = m_.gated() ? 2 : 1;
  add_halves(name + "linear_fc1.weight", {halves * f, h}, m_.gated() ? Shape{2, f, h} : Shape{f, h});
  if (bias) add_halves(name + "linear_fc1.bias", {halves * f}, m_.gated() ? Shape{2, f} : Shape{f});
  flat(name + "linear_fc2.weight", {h, f}, name + "linear_fc2.weight", {h, f});
  if (bias) flat(name + "linear_fc2.bias", {h}, name + "linear_fc2.bias", {h});
}

// The shapes are one expert's.
void MegatronBuilder::add_of_experts(const std::string& name, Shape their_shape, Shape our_shape) {
  const i64 e = m_.moe.num_experts, size = count(their_shape);
  our_shape.insert(our_shape.begin(), e);
  if (experts_ == MegatronExperts::joined) {
    their_shape.insert(their_shape.begin(), e);
    return flat("mlp.experts.experts." + name, their_shape, "mlp.experts." + name, our_shape);
  }
  const bool apart = experts_ == MegatronExperts::apart;
  const bool halved = !apart && m_.gated() && name.starts_with("linear_fc1.");
  Shape half = their_shape;
  half[0] /= 2;
  std::vector<Run> all;
  for (i64 i = 0; i < e; ++i) {
    const std::string expert = fmt::format("mlp.experts.{}.{}.{}", apart ? "local_experts" : "experts", i, name);
    if (halved)
      all.insert(all.end(), {{expert + "_w", half, i * size}, {expert + "_v", half, i * size + size / 2}});
    else
      all.push_back({expert, their_shape, i * size});
  }
  runs(all, "mlp.experts." + name, our_shape);
}

void MegatronBuilder::add_experts() {
  const i64 e = m_.moe.num_experts, f = m_.expert_width(), halves = m_.gated() ? 2 : 1;
  const i64 h = m_.hidden_size, width = m_.moe.latent_size > 0 ? m_.moe.latent_size : h;  // of what experts see
  flat("mlp.router.weight", {e, h}, "mlp.router.weight", {e, h});
  if (m_.add_bias_linear) flat("mlp.router.bias", {e}, "mlp.router.bias", {e});
  if (m_.moe.router_enable_expert_bias) flat("mlp.router.expert_bias", {e}, "mlp.router.expert_bias", {e});
  if (m_.moe.latent_size > 0) add_latent_experts();
  add_of_experts("linear_fc1.weight", {halves * f, width}, m_.gated() ? Shape{2, f, width} : Shape{f, width});
  if (m_.mlp_bias()) add_of_experts("linear_fc1.bias", {halves * f}, m_.gated() ? Shape{2, f} : Shape{f});
  add_of_experts("linear_fc2.weight", {width, f}, {width, f});
  if (m_.mlp_bias()) add_of_experts("linear_fc2.bias", {width}, {width});
  if (m_.moe.shared_expert_intermediate_size > 0) add_shared_experts();
}

// The projections before and after experts that are narrower than the stream.
void MegatronBuilder::add_latent_experts() {
  const i64 h = m_.hidden_size, l = m_.moe.latent_size;
  const auto product = [&](const std::string& name, i64 rows, i64 columns) {
    flat(name + ".weight", {rows, columns}, name + ".weight", {rows, columns});
    if (m_.add_bias_linear) flat(name + ".bias", {rows}, name + ".bias", {rows});
  };
  product("mlp.fc1_latent_proj", l, h), product("mlp.fc2_latent_proj", h, l);
}

void MegatronBuilder::add_shared_experts() {
  add_mlp("mlp.shared_experts.", m_.moe.shared_expert_intermediate_size, m_.mlp_bias());
  const Shape gate = {1, m_.hidden_size};
  if (m_.moe.shared_expert_gate) flat("mlp.shared_experts.gate_weight", gate, "mlp.shared_experts.gate_weight", gate);
}

// Its matrix has the embedding's half first.
void MegatronBuilder::add_mtp_module() {
  const i64 h = m_.hidden_size;
  for (const char* name : {"enorm", "hnorm", "final_layernorm"}) {
    whole(mtp_name() + name + ".weight", {h}, {h});
    if (has_norm_bias()) whole(mtp_name() + name + ".bias", {h}, {h});
  }
  const std::size_t projection = theirs(mtp_name() + "eh_proj.weight", {h, 2 * h});
  for (const char* half : {"eh_proj_embedding", "eh_proj_hidden"}) {
    const i64 start = std::string_view(half) == "eh_proj_hidden" ? h : 0;
    map_.links.push_back({projection,
                          ours(mtp_name() + half + ".weight", {h, h}),
                          {.size = {1, h, h}, .ours = {0, h, 1}, .theirs = {0, 2 * h, 1}, .their_start = start}});
  }
  add_layer();
}

}  // namespace megalith
