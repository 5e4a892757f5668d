#include "ckpt/hf/hf_mapping.h"

#include <algorithm>

#include "ckpt/hf/hf_builder.h"

namespace megalith {

void HfBuilder::add_embeddings() {
  const i64 h = m_.hidden_size;
  map_.prefix = n_.prefix;
  map_.embedding = with_prefix(n_.embedding) + ".weight";
  map_.head = std::string(n_.head) + ".weight";
  const Shape words = {m_.vocab_size, h}, positions = {m_.max_position_embeddings, h};
  flat(map_.embedding, words, "embedding.word_embeddings.weight", words);
  if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
    flat(with_prefix(n_.positions) + ".weight", positions, "embedding.position_embeddings.weight", positions);
  if (is_bert() && m_.bert.token_types > 0) {
    const Shape types = {m_.bert.token_types, h};
    flat(with_prefix(n_.token_types) + ".weight", types, "embedding.tokentype_embeddings.weight", types);
  }
  if (m_.embedding_layernorm) norm(with_prefix(n_.embedding_norm), "embedding.layernorm");
}

// Layer `n` there.
void HfBuilder::add_layer(i64 n, const std::string& our) {
  const std::string layer = with_prefix(n_.layers) + std::to_string(n) + ".";
  const bool behind = m_.norm_block_output || m_.bert.post_norm;
  if (!behind) norm(layer + std::string(n_.input_norm), our + "input_layernorm");
  if (m_.mla.on())
    add_latent_attention(layer, our + "self_attention.");
  else
    add_attention(layer, our + "self_attention.");
  if (behind) norm(layer + std::string(n_.attention_output_norm), our + "post_self_attn_layernorm");
  if (!behind && !(m_.parallel_residual && m_.parallel_shared_norm))
    norm(layer + std::string(n_.mlp_norm), our + "pre_mlp_layernorm");
  if (!mixtures_.empty() && mixtures_[std::size_t(std::min(n, m_.num_layers - 1))])  // a module is as the last layer
    add_experts(layer, our + "mlp.");
  else
    add_mlp(layer, our + "mlp.");
  if (behind) norm(layer + std::string(n_.mlp_output_norm), our + "post_mlp_layernorm");
}

// The projection has the embedding's half first.
void HfBuilder::add_module(i64 n) {
  check(!n_.input_projection.empty(), "[hf] this family has no modules of multi-token prediction: the model has {}",
        m_.mtp.modules());
  const i64 layer = m_.num_layers + n, h = m_.hidden_size;
  const std::string their = fmt::format("{}{}.", with_prefix(n_.layers), layer), our = fmt::format("mtp.layers.{}.", n);
  norm(their + std::string(n_.embedding_input_norm), our + "enorm");
  norm(their + std::string(n_.stream_input_norm), our + "hnorm");
  norm(their + std::string(n_.module_output_norm), our + "final_layernorm");
  const std::size_t projection = theirs(their + std::string(n_.input_projection) + ".weight", {h, 2 * h});
  for (const bool stream : {false, true})
    link(projection, ours(our + (stream ? "eh_proj_hidden.weight" : "eh_proj_embedding.weight"), {h, h}),
         {.size = {1, h, h}, .ours = {0, h, 1}, .theirs = {0, 2 * h, 1}, .their_start = stream ? h : 0});
  add_layer(layer, our + "transformer_layer.");
}

void HfBuilder::add_attention(const std::string& layer, const std::string& our) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = m_.hidden_size;
  if (n_.qkv.empty()) {
    add_separate_qkv(layer, our);
  } else {
    const std::string fused = layer + std::string(n_.qkv);
    add_fused_qkv(fused + ".weight", our, false);
    if (m_.qkv_bias()) add_fused_qkv(fused + ".bias", our, true);
  }
  if (m_.qk_layernorm) {
    const bool across = m_.qk_layernorm_across_heads;
    vector(layer + std::string(n_.q_norm) + ".weight", our + "q_layernorm.weight", across ? g * r * d : d);
    vector(layer + std::string(n_.k_norm) + ".weight", our + "k_layernorm.weight", across ? g * d : d);
  }
  const std::string proj = layer + std::string(n_.proj);
  linear(proj + ".weight", our + "linear_proj.weight", {h, g, r, d}, h, g * r * d);
  if (m_.attention_bias()) vector(proj + ".bias", our + "linear_proj.bias", h);
}

// Rows in the same order on both sides: for each head its non-rotary part, then its rotary part (or its values).
void HfBuilder::add_latent_attention(const std::string& layer, const std::string& our) {
  const MlaConfig& mla = m_.mla;
  const i64 h = m_.hidden_size, a = m_.num_attention_heads, rank = mla.q_lora_rank, latent = mla.kv_lora_rank;
  const auto matrix = [&](std::string_view their, const char* name, const Shape& shape) {
    flat(layer + std::string(their) + ".weight", {count(shape) / shape.back(), shape.back()}, our + name, shape);
  };
  const auto latent_norm = [&](std::string_view their, const char* name, i64 n) {
    if (m_.qk_layernorm) vector(layer + std::string(their) + ".weight", our + name, n);
  };
  if (rank > 0) {
    matrix(n_.q_a, "linear_q_down_proj.weight", {rank, h}), latent_norm(n_.q_a_norm, "q_layernorm.weight", rank);
    matrix(n_.q_b, "linear_q_up_proj.weight", {a, 1, mla.head(), rank});
  } else {
    matrix(n_.q, "linear_q_proj.weight", {a, 1, mla.head(), h});
  }
  matrix(n_.kv_a, "linear_kv_down_proj.weight", {latent + mla.qk_pos_emb_head_dim, h});
  latent_norm(n_.kv_a_norm, "kv_layernorm.weight", latent);
  matrix(n_.kv_b, "linear_kv_up_proj.weight", {a, mla.qk_head_dim + mla.v_head_dim, latent});
  flat(layer + std::string(n_.proj) + ".weight", {h, a * mla.v_head_dim}, our + "linear_proj.weight",
       {h, a, 1, mla.v_head_dim});
}

void HfBuilder::add_separate_qkv(const std::string& layer, const std::string& our) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = m_.hidden_size;
  const std::pair<std::string_view, const char*> parts[] = {{n_.q, "q"}, {n_.k, "k"}, {n_.v, "v"}};
  for (const auto& [their, part] : parts) {
    const std::string name = layer + std::string(their), logical = our + "linear_" + part;
    const Shape heads = *part == 'q' ? Shape{g, r, d} : Shape{g, d};
    Shape weight = heads;
    weight.push_back(h);
    flat(name + ".weight", {count(heads), h}, logical + ".weight", weight);
    if (m_.qkv_bias()) flat(name + ".bias", {count(heads)}, logical + ".bias", heads);
  }
}

// Rows of [g, r + 2, d]: each group's queries, its key, its value. Transposed: all queries, all keys, all values.
void HfBuilder::add_fused_qkv(const std::string& their, const std::string& our, bool bias) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = bias ? 1 : m_.hidden_size;
  const bool thirds = n_.transposed;
  const i64 rows = g * (r + 2) * d;
  const Shape shape = bias ? Shape{rows} : thirds ? Shape{h, rows} : Shape{rows, h};
  const std::size_t fused = theirs(their, shape);
  i64 first_row = 0;  // of this part, in its group (or, of thirds, in all)
  for (const char* part : {"q", "k", "v"}) {
    const i64 heads = *part == 'q' ? r : 1, part_rows = heads * d;
    Shape logical = *part == 'q' ? Shape{g, r, d} : Shape{g, d};
    if (!bias) logical.push_back(h);
    Strides block{.size = {g, part_rows, h}, .ours = {part_rows * h, h, 1}, .theirs = {(r + 2) * d * h, h, 1}};
    block.their_start = first_row * h;
    if (thirds) {
      block.theirs = {part_rows, 1, rows};
      block.their_start = first_row;
    }
    link(fused, ours(our + "linear_" + part + (bias ? ".bias" : ".weight"), logical), block);
    first_row += thirds ? g * part_rows : part_rows;
  }
}

void HfBuilder::add_mlp(const std::string& layer, const std::string& our) {
  const i64 h = m_.hidden_size, f = m_.ffn_hidden_size;
  if (m_.gated()) {
    for (const i64 half : {0, 1}) {
      const std::string name = layer + std::string(half == 0 ? n_.gate : n_.up);
      Strides weight = Strides::flat(f * h), bias = Strides::flat(f);
      weight.our_start = half * f * h;
      bias.our_start = half * f;
      link(theirs(name + ".weight", {f, h}), ours(our + "linear_fc1.weight", {2, f, h}), weight);
      if (m_.mlp_bias()) link(theirs(name + ".bias", {f}), ours(our + "linear_fc1.bias", {2, f}), bias);
    }
  } else {
    const std::string fc1 = layer + std::string(n_.fc1);
    linear(fc1 + ".weight", our + "linear_fc1.weight", {f, h}, f, h);
    if (m_.mlp_bias()) vector(fc1 + ".bias", our + "linear_fc1.bias", f);
  }
  const std::string fc2 = layer + std::string(n_.fc2);
  linear(fc2 + ".weight", our + "linear_fc2.weight", {h, f}, h, f);
  if (m_.mlp_bias()) vector(fc2 + ".bias", our + "linear_fc2.bias", h);
}

void HfBuilder::add_head() {
  if (!m_.bert.post_norm) norm(with_prefix(n_.final_norm), stack() + ".final_layernorm");
  const Shape shape = {m_.vocab_size, m_.hidden_size};
  if (m_.untie_embeddings_and_output_weights) flat(map_.head, shape, "output_layer.weight", shape);
  if (is_bert()) add_bert_heads();
}

void HfBuilder::add_bert_heads() {
  const i64 h = m_.hidden_size;
  const auto dense = [&](std::string_view their, const std::string& our, i64 rows) {
    flat(std::string(their) + ".weight", {rows, h}, our + ".weight", {rows, h});
    vector(std::string(their) + ".bias", our + ".bias", rows);
  };
  dense(n_.head_dense, "lm_head.dense", h);
  norm(std::string(n_.head_norm), "lm_head.layer_norm");
  vector(std::string(n_.head_bias) + ".bias", "output_layer.bias", m_.vocab_size);
  if (!m_.bert.binary_head()) return;
  dense(n_.pooler, "pooler.dense", h);
  dense(n_.binary_head, "binary_head", 2);
}

HfMapping hf_mapping(const HfFamily& family, const ModelConfig& model) {
  check(model.num_query_groups > 0 && model.kv_channels > 0 && model.ffn_hidden_size > 0 && model.vocab_size > 0,
        "[hf] a model with unresolved sizes has no mapping");
  return model.is_t5() ? hf_t5_mapping(model) : HfBuilder(family.names(model), model).build();
}

HfMapping hf_written_mapping(const HfFamily& family, const ModelConfig& model) {
  HfMapping map = hf_mapping(family, model);
  const auto bias = std::ranges::find(map.theirs, kBertHeadBias, &NamedShape::name);
  if (bias == map.theirs.end()) return map;
  const std::size_t first = std::size_t(bias - map.theirs.begin());
  TensorLink link = *std::ranges::find(map.links, first, &TensorLink::theirs);
  link.theirs = map.theirs.size();
  map.theirs.push_back({std::string(kBertBias), bias->shape});
  map.links.push_back(link);
  return map;
}

HfMapping hf_parameter_mapping(const HfFamily& family, const ModelConfig& model) {
  if (model.is_t5()) return hf_t5_mapping(model);
  HfNames names = family.names(model), usual;
  names.router = usual.router, names.experts = usual.experts, names.fused_experts = true;
  ModelConfig trained = model;
  trained.moe.router_enable_expert_bias = false;
  return HfBuilder(names, trained).build();
}

}  // namespace megalith
