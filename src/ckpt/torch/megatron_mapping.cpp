#include "ckpt/torch/megatron_mapping.h"

#include "base/check.h"
#include "ckpt/torch/megatron_builder.h"

namespace megalith {

TensorMapping MegatronBuilder::build() {
  if (m_.is_t5()) return build_t5();
  if (m_.retrieves()) return build_retro();
  const i64 h = m_.hidden_size;
  whole("embedding.word_embeddings.weight", {rows_, h}, {m_.vocab_size, h});
  if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
    whole("embedding.position_embeddings.weight", {m_.max_position_embeddings, h}, {m_.max_position_embeddings, h});
  if (is_bert() && m_.bert.token_types > 0)
    whole("embedding.tokentype_embeddings.weight", {m_.bert.token_types, h}, {m_.bert.token_types, h});
  if (m_.embedding_layernorm)
    for (const char* part : {"weight", "bias"}) whole(std::string("embedding.layernorm.") + part, {h}, {h});
  mixtures_ = m_.moe.pattern(m_.num_layers);
  for (layer_ = 0; layer_ < m_.num_layers; ++layer_) add_layer();
  if (!m_.bert.post_norm) {
    whole(stack_ + ".final_layernorm.weight", {h}, {h});
    if (has_norm_bias()) whole(stack_ + ".final_layernorm.bias", {h}, {h});
  }
  for (module_ = 0; module_ < m_.mtp.modules(); ++module_) add_mtp_module();
  if (m_.untie_embeddings_and_output_weights) whole("output_layer.weight", {rows_, h}, {m_.vocab_size, h});
  if (is_bert()) add_bert_heads();
  return std::move(map_);
}

void MegatronBuilder::add_bert_heads() {
  const i64 h = m_.hidden_size;
  const auto same = [&](const std::string& name, const Shape& shape) { whole(name, shape, shape); };
  same("lm_head.dense.weight", {h, h}), same("lm_head.dense.bias", {h});
  same("lm_head.layer_norm.weight", {h});
  if (has_norm_bias()) same("lm_head.layer_norm.bias", {h});
  whole("output_layer.bias", {rows_}, {m_.vocab_size});
  if (!m_.bert.binary_head()) return;
  same("pooler.dense.weight", {h, h}), same("pooler.dense.bias", {h});
  same("binary_head.weight", {2, h}), same("binary_head.bias", {2});
}

std::size_t MegatronBuilder::theirs(const std::string& name, const Shape& shape) {
  const auto [it, added] = index_.emplace(name, map_.theirs.size());
  if (added) map_.theirs.push_back({name, shape});
  return it->second;
}

std::size_t MegatronBuilder::ours(const std::string& name, const Shape& shape) {
  map_.ours.push_back({name, shape});
  return map_.ours.size() - 1;
}

void MegatronBuilder::whole(const std::string& name, const Shape& their_shape, const Shape& our_shape) {
  map_.links.push_back({theirs(name, their_shape), ours(name, our_shape), Strides::flat(count(our_shape))});
}

// A block of a layer's tensor there, the elements of one here in their order.
void MegatronBuilder::add(const std::string& their, Shape their_shape, const std::string& our, const Shape& our_shape,
                          Strides block) {
  if (is_stacked()) {
    block.their_start += layer_ * count(their_shape);
    their_shape.insert(their_shape.begin(), layers_of_stack_);
  }
  map_.links.push_back({theirs(full_name(their), their_shape), ours(place() + our, our_shape), block});
}

void MegatronBuilder::flat(const std::string& their, const Shape& their_shape, const std::string& our,
                           const Shape& our_shape) {
  add(their, their_shape, our, our_shape, Strides::flat(count(our_shape)));
}

// Tensors of a layer that has its own, which together are one of ours.
void MegatronBuilder::runs(const std::vector<Run>& runs, const std::string& our, const Shape& our_shape) {
  const std::size_t index = ours(place() + our, our_shape);
  for (const Run& r : runs) {
    Strides block = Strides::flat(count(r.shape));
    block.our_start = r.start;
    map_.links.push_back({theirs(place() + r.their, r.shape), index, block});
  }
}

void MegatronBuilder::norm(const std::string& linear, const std::string& our) {
  if (norms_outputs()) return;
  flat(linear + ".layer_norm_weight", {m_.hidden_size}, our + ".weight", {m_.hidden_size});
  if (has_norm_bias()) flat(linear + ".layer_norm_bias", {m_.hidden_size}, our + ".bias", {m_.hidden_size});
}

// A norm of `n` numbers. Some layer implementations have it as a separate module, others fuse it into a linear layer.
// `is_own`: whether transformer-engine's layers have it as a separate module.
void MegatronBuilder::norm_of_either(const std::string& own, const std::string& part, bool is_own,
                                     const std::string& our, i64 n) {
  const std::string& name = (has_ ? has_(full_name(own + "weight")) : is_own) ? own : part;
  flat(name + "weight", {n}, our + ".weight", {n});
  if (has_norm_bias() && n == m_.hidden_size) flat(name + "bias", {n}, our + ".bias", {n});
}

// After a block: Megatron has no such norm, so the name is ours.
void MegatronBuilder::norm_of_output(const std::string& our) {
  if (!norms_outputs()) return;
  flat(our + ".weight", {m_.hidden_size}, our + ".weight", {m_.hidden_size});
  if (has_norm_bias()) flat(our + ".bias", {m_.hidden_size}, our + ".bias", {m_.hidden_size});
}

void MegatronBuilder::add_qkv(bool bias) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = bias ? 1 : m_.hidden_size;
  const Shape shape = bias ? Shape{g * (r + 2) * d} : Shape{g * (r + 2) * d, h};
  const char* end = bias ? ".bias" : ".weight";
  i64 row = 0;  // of this part in its group
  for (const char* part : {"q", "k", "v"}) {
    const i64 rows = *part == 'q' ? r * d : d;
    Shape logical = *part == 'q' ? Shape{g, r, d} : Shape{g, d};
    if (!bias) logical.push_back(h);
    const Strides block{
        .size = {1, g, rows * h}, .ours = {0, rows * h, 1}, .theirs = {0, (r + 2) * d * h, 1}, .their_start = row * h};
    add(std::string("self_attention.linear_qkv") + end, shape, std::string("self_attention.linear_") + part + end,
        logical, block);
    row += rows;
  }
}

// Rows in one order on both sides.
void MegatronBuilder::add_latent_attention() {
  const MlaConfig& mla = m_.mla;
  const i64 h = m_.hidden_size, a = m_.num_attention_heads, rank = mla.q_lora_rank, latent = mla.kv_lora_rank;
  const i64 kv = mla.qk_head_dim + mla.v_head_dim, shared = mla.qk_pos_emb_head_dim;
  const auto matrix = [&](const std::string& which, i64 columns, const Shape& ours) {
    const std::string name = "self_attention.linear_" + which + ".weight";
    flat(name, {count(ours) / columns, columns}, name, ours);
  };
  const auto latent_norm = [&](const std::string& which, i64 n) {
    const std::string own = "self_attention." + which + "_layernorm";
    const std::string part = "self_attention.linear_" + which + "_up_proj.layer_norm_";
    if (m_.qk_layernorm) norm_of_either(own + ".", part, false, own, n);
  };
  if (!norms_outputs())
    norm_of_either("input_layernorm.", "self_attention.linear_qkv.layer_norm_", true, "input_layernorm", h);
  if (rank > 0) {
    matrix("q_down_proj", h, {rank, h}), latent_norm("q", rank);
    matrix("q_up_proj", rank, {a, 1, mla.head(), rank});
  } else {
    matrix("q_proj", h, {a, 1, mla.head(), h});
  }
  matrix("kv_down_proj", h, {latent + shared, h}), latent_norm("kv", latent);
  matrix("kv_up_proj", latent, {a, kv, latent});
  flat("self_attention.linear_proj.weight", {h, a * mla.v_head_dim}, "self_attention.linear_proj.weight",
       {h, a, 1, mla.v_head_dim});
}

void MegatronBuilder::add_attention() {
  const i64 h = m_.hidden_size, d = m_.kv_channels, g = m_.groups(), r = m_.heads_per_group();
  norm("self_attention.linear_qkv", "input_layernorm");
  add_qkv(false);
  if (m_.qkv_bias()) add_qkv(true);
  if (m_.qk_layernorm)
    for (const char* name : {"self_attention.q_layernorm.weight", "self_attention.k_layernorm.weight"}) {
      const bool query = std::string_view(name).find("q_layernorm") != std::string_view::npos;
      const i64 n = d * (!m_.qk_layernorm_across_heads ? 1 : query ? g * r : g);
      flat(name, {n}, name, {n});
    }
  flat("self_attention.linear_proj.weight", {h, g * r * d}, "self_attention.linear_proj.weight", {h, g, r, d});
}

void MegatronBuilder::add_layer() {
  const i64 h = m_.hidden_size;
  m_.mla.on() ? add_latent_attention() : add_attention();
  if (m_.attention_bias()) flat("self_attention.linear_proj.bias", {h}, "self_attention.linear_proj.bias", {h});
  norm_of_output("post_self_attn_layernorm");
  if (has_own_mlp_norm_)
    norm_of_either("pre_mlp_layernorm.norm.", "", true, "pre_mlp_layernorm", h);
  else if (!(m_.parallel_residual && m_.parallel_shared_norm) && !norms_outputs())
    norm_of_either("pre_mlp_layernorm.", "mlp.linear_fc1.layer_norm_", is_mixture(), "pre_mlp_layernorm", h);
  if (is_mixture())
    add_experts();
  else
    add_mlp("mlp.", m_.ffn_hidden_size, m_.mlp_bias());
  norm_of_output("post_mlp_layernorm");
}

MegatronLayers megatron_layers(const ModelConfig& model) {
  const bool alike = !model.retrieves() && (model.moe.num_experts == 0 || model.moe.layer_freq == "1");
  return alike ? MegatronLayers::stacked : MegatronLayers::separate;
}

TensorMapping megatron_mapping(const ModelConfig& model, MegatronLayers layers, i64 rows, const HasTensor& has,
                               MegatronExperts experts) {
  check(model.num_query_groups > 0 && model.kv_channels > 0 && model.ffn_hidden_size > 0 && model.vocab_size > 0,
        "[megatron] a model with unresolved sizes has no mapping");
  check(rows >= model.vocab_size, "[megatron] the embedding has {} rows, fewer than the vocabulary's {}", rows,
        model.vocab_size);
  return MegatronBuilder(model, layers, rows, has, experts).build();
}

TensorMapping trained_part(const ModelConfig& model, const TensorMapping& mapping) {
  if (!model.moe.router_enable_expert_bias) return mapping;
  return part_of(mapping, [](const std::string& name) { return !name.ends_with(kRouterBias); });
}

TensorMapping untrained_part(const ModelConfig& model, const TensorMapping& mapping) {
  if (!model.moe.router_enable_expert_bias) return {};
  return part_of(mapping, [](const std::string& name) { return name.ends_with(kRouterBias); });
}

}  // namespace megalith
