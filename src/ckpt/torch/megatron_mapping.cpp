#include "ckpt/torch/megatron_mapping.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/check.h"

namespace megalith {
namespace {

class MegatronBuilder {
 public:
  MegatronBuilder(const ModelConfig& m, MegatronLayers layers, i64 rows, const HasTensor& has, MegatronExperts experts)
      : m_(m), layers_(layers), rows_(rows), has_(has), experts_(experts) {}

  TensorMapping build() {
    const i64 h = m_.hidden_size;
    whole("embedding.word_embeddings.weight", {rows_, h}, {m_.vocab_size, h});
    if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
      whole("embedding.position_embeddings.weight", {m_.max_position_embeddings, h}, {m_.max_position_embeddings, h});
    if (m_.embedding_layernorm)
      for (const char* part : {"weight", "bias"}) whole(std::string("embedding.layernorm.") + part, {h}, {h});
    mixtures_ = m_.moe.pattern(m_.num_layers);
    for (layer_ = 0; layer_ < m_.num_layers; ++layer_) add_layer();
    whole("decoder.final_layernorm.weight", {h}, {h});
    if (has_norm_bias()) whole("decoder.final_layernorm.bias", {h}, {h});
    for (module_ = 0; module_ < m_.mtp.modules(); ++module_) add_mtp_module();
    if (m_.untie_embeddings_and_output_weights) whole("output_layer.weight", {rows_, h}, {m_.vocab_size, h});
    return std::move(map_);
  }

 private:
  bool has_norm_bias() const { return m_.normalization == Normalization::layer_norm; }

  std::size_t theirs(const std::string& name, const Shape& shape) {
    const auto [it, added] = index_.emplace(name, map_.theirs.size());
    if (added) map_.theirs.push_back({name, shape});
    return it->second;
  }
  std::size_t ours(const std::string& name, const Shape& shape) {
    map_.ours.push_back({name, shape});
    return map_.ours.size() - 1;
  }
  void whole(const std::string& name, const Shape& their_shape, const Shape& our_shape) {
    map_.links.push_back({theirs(name, their_shape), ours(name, our_shape), Strides::flat(count(our_shape))});
  }

  // A block of a layer's tensor there, the elements of one here in their order.
  void add(const std::string& their, Shape their_shape, const std::string& our, const Shape& our_shape, Strides block) {
    std::string name = place() + their;
    if (layers_ == MegatronLayers::stacked && !in_module()) {
      name = "decoder.layers." + their;
      block.their_start += layer_ * count(their_shape);
      their_shape.insert(their_shape.begin(), m_.num_layers);
    }
    map_.links.push_back({theirs(name, their_shape), ours(place() + our, our_shape), block});
  }
  void flat(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape) {
    add(their, their_shape, our, our_shape, Strides::flat(count(our_shape)));
  }
  void norm(const std::string& linear, const std::string& our) {
    if (m_.norm_block_output) return;
    flat(linear + ".layer_norm_weight", {m_.hidden_size}, our + ".weight", {m_.hidden_size});
    if (has_norm_bias()) flat(linear + ".layer_norm_bias", {m_.hidden_size}, our + ".bias", {m_.hidden_size});
  }
  // A norm of `n` numbers that is a module of its own in some implementations, and a part of a linear layer in others.
  // `first`: what transformer-engine's layers have.
  void norm_of_either(const std::string& first, const std::string& other, const std::string& our, i64 n) {
    const bool has_other = has_ && has_("decoder.layers." + other + "weight");
    const std::string& name = has_other ? other : first;
    flat(name + "weight", {n}, our + ".weight", {n});
    if (has_norm_bias() && n == m_.hidden_size) flat(name + "bias", {n}, our + ".bias", {n});
  }
  // Behind a block: Megatron has none, so the name is ours.
  void norm_of_output(const std::string& our) {
    if (!m_.norm_block_output) return;
    flat(our + ".weight", {m_.hidden_size}, our + ".weight", {m_.hidden_size});
    if (has_norm_bias()) flat(our + ".bias", {m_.hidden_size}, our + ".bias", {m_.hidden_size});
  }

  bool in_module() const { return module_ >= 0; }
  std::string mtp_name() const { return fmt::format("mtp.layers.{}.", module_); }
  std::string place() const {
    return in_module() ? mtp_name() + "transformer_layer." : fmt::format("decoder.layers.{}.", layer_);
  }
  bool is_mixture() const {  // a module's layer is as the last one
    return !mixtures_.empty() && (in_module() ? mixtures_.back() : mixtures_[size_t(layer_)]);
  }

  void add_layer();
  void add_attention();
  void add_latent_attention();
  void add_qkv(bool bias);
  void add_mlp(const std::string& name, i64 width, bool bias);
  void add_experts();
  void add_mtp_module();

  const ModelConfig& m_;
  MegatronLayers layers_;
  i64 rows_;
  const HasTensor& has_;
  MegatronExperts experts_;
  i64 layer_ = 0, module_ = -1;  // of multi-token prediction; -1: a layer of the decoder
  std::vector<bool> mixtures_;   // by layer; none: no layer is one
  TensorMapping map_;
  std::unordered_map<std::string, std::size_t> index_;
};

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
    if (m_.qk_layernorm) norm_of_either("self_attention.linear_" + which + "_up_proj.layer_norm_", own + ".", own, n);
  };
  if (!m_.norm_block_output)
    norm_of_either("input_layernorm.", "self_attention.linear_qkv.layer_norm_", "input_layernorm", h);
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
  if (!(m_.parallel_residual && m_.parallel_shared_norm) && !m_.norm_block_output)
    norm_of_either("mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm.", "pre_mlp_layernorm", h);
  if (is_mixture())
    add_experts();
  else
    add_mlp("mlp.", m_.ffn_hidden_size, m_.mlp_bias());
  norm_of_output("post_mlp_layernorm");
}

void MegatronBuilder::add_mlp(const std::string& name, i64 f, bool bias) {
  const i64 h = m_.hidden_size, halves = m_.gated() ? 2 : 1;
  flat(name + "linear_fc1.weight", {halves * f, h}, name + "linear_fc1.weight",
       m_.gated() ? Shape{2, f, h} : Shape{f, h});
  if (bias) flat(name + "linear_fc1.bias", {halves * f}, name + "linear_fc1.bias", m_.gated() ? Shape{2, f} : Shape{f});
  flat(name + "linear_fc2.weight", {h, f}, name + "linear_fc2.weight", {h, f});
  if (bias) flat(name + "linear_fc2.bias", {h}, name + "linear_fc2.bias", {h});
}

void MegatronBuilder::add_experts() {
  const i64 e = m_.moe.num_experts, h = m_.hidden_size, f = m_.expert_width(), halves = m_.gated() ? 2 : 1;
  flat("mlp.router.weight", {e, h}, "mlp.router.weight", {e, h});
  if (m_.add_bias_linear) flat("mlp.router.bias", {e}, "mlp.router.bias", {e});
  if (m_.moe.router_enable_expert_bias) flat("mlp.router.expert_bias", {e}, "mlp.router.expert_bias", {e});
  const std::string ours_at = place() + "mlp.experts.";
  const auto of_experts = [&](const std::string& name, const Shape& shape, Shape our_shape) {
    our_shape.insert(our_shape.begin(), e);
    if (experts_ == MegatronExperts::joined) {
      Shape joined = shape;
      joined.insert(joined.begin(), e);
      return flat("mlp.experts.experts." + name, joined, "mlp.experts." + name, our_shape);
    }
    const size_t logical = ours(ours_at + name, our_shape);
    for (i64 i = 0; i < e; ++i) {
      Strides block = Strides::flat(count(shape));
      block.our_start = i * count(shape);
      const std::string expert = fmt::format("{}local_experts.{}.{}", ours_at, i, name);
      map_.links.push_back({theirs(expert, shape), logical, block});
    }
  };
  of_experts("linear_fc1.weight", {halves * f, h}, m_.gated() ? Shape{2, f, h} : Shape{f, h});
  if (m_.mlp_bias()) of_experts("linear_fc1.bias", {halves * f}, m_.gated() ? Shape{2, f} : Shape{f});
  of_experts("linear_fc2.weight", {h, f}, {h, f});
  if (m_.mlp_bias()) of_experts("linear_fc2.bias", {h}, {h});
  const i64 shared = m_.moe.shared_expert_intermediate_size;
  if (shared > 0) add_mlp("mlp.shared_experts.", shared, m_.mlp_bias());
  if (shared > 0 && m_.moe.shared_expert_gate)
    flat("mlp.shared_experts.gate_weight", {1, h}, "mlp.shared_experts.gate_weight", {1, h});
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

struct Rename {
  std::string_view from, to;
};
constexpr Rename kEnds[] = {{".mtp_model_layer.", ".transformer_layer."},
                            {".input_layernorm.", ".self_attention.linear_qkv.layer_norm_"},
                            {".input_norm.", ".self_attention.linear_qkv.layer_norm_"},
                            {".pre_mlp_layernorm.", ".mlp.linear_fc1.layer_norm_"},
                            {".post_attention_layernorm.", ".mlp.linear_fc1.layer_norm_"},
                            {".post_attention_norm.", ".mlp.linear_fc1.layer_norm_"},
                            {".self_attention.query_key_value.", ".self_attention.linear_qkv."},
                            {".self_attention.dense.", ".self_attention.linear_proj."},
                            {".mlp.dense_h_to_4h.", ".mlp.linear_fc1."},
                            {".mlp.dense_4h_to_h.", ".mlp.linear_fc2."},
                            {".final_norm.", ".final_layernorm."}};
constexpr Rename kBegins[] = {{"language_model.", ""},
                              {"encoder.", "decoder."},
                              {"transformer.", "decoder."},
                              {"decoder.final_norm.", "decoder.final_layernorm."},
                              {"word_embeddings_for_head.", "output_layer."}};

}  // namespace

MegatronLayers megatron_layers(const ModelConfig& model) {
  const bool alike = model.moe.num_experts == 0 || model.moe.layer_freq == "1";
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

std::string canonical_megatron_name(const std::string& name) {
  std::string result = name;
  for (const Rename& r : kBegins)
    if (result.starts_with(r.from)) result.replace(0, r.from.size(), r.to);
  for (const Rename& r : kEnds)
    if (const auto at = result.find(r.from); at != std::string::npos) result.replace(at, r.from.size(), r.to);
  return result;
}

}  // namespace megalith
