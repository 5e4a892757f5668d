// Links a model's tensors with a family's, module by module; see hf_mapping.h.
#pragma once
#include <fmt/format.h>

#include <unordered_map>

#include "base/check.h"
#include "ckpt/hf/hf_mapping.h"

namespace megalith {

// The links of one MLP. The argument is the prefix of its names.
struct MlpNames {
  std::string gate, up, fc2;
};

class HfBuilder {
 public:
  HfBuilder(const HfNames& names, const ModelConfig& model)
      : n_(names), m_(model), mixtures_(model.moe.pattern(model.num_layers)) {}

  HfMapping build() {
    add_embeddings();
    for (i64 n = 0; n < m_.num_layers; ++n) add_layer(n, fmt::format("{}.layers.{}.", stack(), n));
    for (i64 n = 0; n < m_.mtp.modules(); ++n) add_module(n);
    add_head();
    return std::move(map_);
  }

 private:
  bool is_bert() const { return m_.architecture == Architecture::bert; }
  std::string stack() const { return is_bert() ? "encoder" : "decoder"; }
  std::string with_prefix(std::string_view name) const { return std::string(n_.prefix) + std::string(name); }

  std::size_t theirs(const std::string& name, const Shape& shape) {
    const auto [it, added] = their_index_.emplace(name, map_.theirs.size());
    if (added) map_.theirs.push_back({name, shape});
    return it->second;
  }
  std::size_t ours(const std::string& name, const Shape& shape) {
    const auto [it, added] = our_index_.emplace(name, map_.ours.size());
    if (added) map_.ours.push_back({name, shape});
    return it->second;
  }
  void link(std::size_t their, std::size_t our, const Strides& block) { map_.links.push_back({their, our, block}); }

  // The same elements in the same order.
  void flat(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape) {
    link(theirs(their, their_shape), ours(our, our_shape), Strides::flat(count(our_shape)));
  }
  // `our` as rows x columns; theirs is columns x rows for Conv1D.
  void linear(const std::string& their, const std::string& our, const Shape& our_shape, i64 rows, i64 columns) {
    if (!n_.transposed) return flat(their, {rows, columns}, our, our_shape);
    link(theirs(their, {columns, rows}), ours(our, our_shape),
         {.size = {1, rows, columns}, .ours = {0, columns, 1}, .theirs = {0, 1, rows}});
  }
  void norm(const std::string& their, const std::string& our) {
    vector(their + ".weight", our + ".weight", m_.hidden_size);
    if (m_.normalization == Normalization::layer_norm) vector(their + ".bias", our + ".bias", m_.hidden_size);
  }
  void vector(const std::string& their, const std::string& our, i64 n) { flat(their, {n}, our, {n}); }

  void add_embeddings();
  void add_layer(i64 n, const std::string& our);
  void add_module(i64 n);
  void add_attention(const std::string& layer, const std::string& our);
  void add_latent_attention(const std::string& layer, const std::string& our);
  void add_separate_qkv(const std::string& layer, const std::string& our);
  void add_fused_qkv(const std::string& their, const std::string& our, bool bias);
  void add_mlp(const std::string& layer, const std::string& our);
  void add_gated_mlp(const MlpNames& their, const std::string& our, i64 f);
  void add_experts(const std::string& layer, const std::string& our);
  void add_fused_experts(const std::string& experts, const std::string& our);
  void add_head();
  void add_bert_heads();

  const HfNames n_;
  const ModelConfig& m_;
  const std::vector<bool> mixtures_;
  HfMapping map_;
  std::unordered_map<std::string, std::size_t> their_index_, our_index_;
};

}  // namespace megalith
