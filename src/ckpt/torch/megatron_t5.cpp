// Links of Megatron's T5Model, whose encoder and decoder have a GPT's layers.
#include "ckpt/torch/megatron_builder.h"

namespace megalith {

TensorMapping MegatronBuilder::build_t5() {
  const i64 h = m_.hidden_size, positions = m_.max_position_embeddings;
  whole("embedding.word_embeddings.weight", {rows_, h}, {m_.vocab_size, h});
  if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
    whole("embedding.position_embeddings.weight", {positions, h}, {positions, h});
  add_stack("encoder", m_.num_layers);
  add_stack("decoder", m_.t5.decoder_num_layers);
  const bool tied = !m_.untie_embeddings_and_output_weights;
  const auto head = [&](const char* part, Shape theirs_shape, Shape ours_shape) {
    const std::string name = std::string("output_layer.") + part;
    map_.links.push_back(
        {theirs("lm_head." + name, theirs_shape), ours(name, ours_shape), Strides::flat(count(ours_shape))});
  };
  if (!tied) head("weight", {rows_, h}, {m_.vocab_size, h});
  if (tied && !m_.t5.no_head_bias) head("bias", {rows_}, {m_.vocab_size});
  return std::move(map_);
}

void MegatronBuilder::add_stack(const std::string& stack, i64 layers) {
  stack_ = stack, layers_of_stack_ = layers;
  if (m_.position_embedding_type == PositionEmbedding::relative) add_relative_positions();
  for (layer_ = 0; layer_ < layers; ++layer_) {
    add_layer();
    if (stack == "decoder") add_cross_attention();
  }
  const i64 h = m_.hidden_size;
  whole(stack + ".final_layernorm.weight", {h}, {h});
  if (has_norm_bias()) whole(stack + ".final_layernorm.bias", {h}, {h});
}

void MegatronBuilder::add_relative_positions() {
  const i64 k = m_.t5.relative_attention_num_buckets, n = m_.num_attention_heads;
  const std::string name = stack_ + "_relative_pos_emb.relative_attention_bias.weight";
  const Strides transposed{.size = {1, n, k}, .ours = {0, k, 1}, .theirs = {0, 1, n}};
  map_.links.push_back({theirs(name, {k, n}), ours(name, {m_.groups(), m_.heads_per_group(), k}), transposed});
}

void MegatronBuilder::add_cross_attention(const std::string& name) {
  const i64 h = m_.hidden_size, d = m_.kv_channels, g = m_.groups(), r = m_.heads_per_group();
  flat("pre_cross_attn_layernorm.weight", {h}, "pre_cross_attn_layernorm.weight", {h});
  if (has_norm_bias()) flat("pre_cross_attn_layernorm.bias", {h}, "pre_cross_attn_layernorm.bias", {h});
  for (const bool bias : {false, true}) {
    if (bias && !m_.qkv_bias()) continue;
    const char* end = bias ? ".bias" : ".weight";
    const auto shape = [&](Shape rows) {
      if (!bias) rows.push_back(h);
      return rows;
    };
    flat(name + "linear_q" + end, shape({g * r * d}), name + "linear_q" + end, shape({g, r, d}));
    const i64 rows = bias ? d : d * h;  // numbers of a group's keys
    for (const i64 values : {0, 1}) {
      const Strides block{
          .size = {1, g, rows}, .ours = {0, rows, 1}, .theirs = {0, 2 * rows, 1}, .their_start = values * rows};
      add(name + "linear_kv" + end, shape({g * 2 * d}), name + (values ? "linear_v" : "linear_k") + end, shape({g, d}),
          block);
    }
  }
  flat(name + "linear_proj.weight", {h, g * r * d}, name + "linear_proj.weight", {h, g, r, d});
  if (m_.attention_bias()) flat(name + "linear_proj.bias", {h}, name + "linear_proj.bias", {h});
}

std::string second_megatron_name(const ModelConfig& model, const std::string& name) {
  if (!model.is_t5()) return {};
  for (const char* holder : {"lm_head.", "embedding."})
    if (name.starts_with(holder) && name.find("word_embeddings") == name.npos)
      return name.substr(std::string_view(holder).size());
  return {};
}

std::string megatron_state_name(const ModelConfig& model, const std::string& name) {
  const std::string second = second_megatron_name(model, name);
  return second.empty() ? name : second;
}

TensorMapping with_state_names(const ModelConfig& model, TensorMapping mapping) {
  for (NamedShape& t : mapping.theirs) t.name = megatron_state_name(model, t.name);
  return mapping;
}

TensorMapping with_second_names(const ModelConfig& model, TensorMapping mapping) {
  const std::size_t links = mapping.links.size();
  for (std::size_t i = 0; i < links; ++i) {
    TensorLink link = mapping.links[i];
    NamedShape theirs = mapping.theirs[link.theirs];
    theirs.name = second_megatron_name(model, theirs.name);
    if (theirs.name.empty()) continue;
    mapping.theirs.push_back(theirs);
    link.theirs = mapping.theirs.size() - 1;
    mapping.links.push_back(link);
  }
  return mapping;
}

}  // namespace megalith
