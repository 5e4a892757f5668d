// Links a model's parameters with Megatron-LM's, layer by layer; see megatron_mapping.h.
#pragma once
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "ckpt/torch/megatron_mapping.h"

namespace megalith {

class MegatronBuilder {
 public:
  MegatronBuilder(const ModelConfig& m, MegatronLayers layers, i64 rows, const HasTensor& has, MegatronExperts experts)
      : m_(m), layers_(layers), rows_(rows), has_(has), experts_(experts) {}

  TensorMapping build();

 private:
  // A tensor there that is a run of the elements of one of ours.
  struct Run {
    std::string their;
    Shape shape;
    i64 start;  // its first element in ours
  };

  bool has_norm_bias() const { return m_.normalization == Normalization::layer_norm; }
  bool is_bert() const { return m_.architecture == Architecture::bert; }
  bool norms_outputs() const { return m_.norm_block_output || m_.bert.post_norm; }
  bool in_module() const { return module_ >= 0; }
  std::string mtp_name() const { return fmt::format("mtp.layers.{}.", module_); }
  std::string place() const {
    return in_module() ? mtp_name() + "transformer_layer." : fmt::format("{}.layers.{}.", stack_, layer_);
  }
  bool is_stacked() const { return layers_ == MegatronLayers::stacked && !in_module(); }
  std::string full_name(const std::string& their) const {
    return (is_stacked() ? stack_ + ".layers." : place()) + their;
  }
  bool is_mixture() const {  // a module's layer is as the last one
    return !mixtures_.empty() && (in_module() ? mixtures_.back() : mixtures_[size_t(layer_)]);
  }

  std::size_t theirs(const std::string& name, const Shape& shape);
  std::size_t ours(const std::string& name, const Shape& shape);
  void whole(const std::string& name, const Shape& their_shape, const Shape& our_shape);
  void add(const std::string& their, Shape their_shape, const std::string& our, const Shape& our_shape, Strides block);
  void flat(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape);
  void runs(const std::vector<Run>& runs, const std::string& our, const Shape& our_shape);
  void norm(const std::string& linear, const std::string& our);
  void norm_of_either(const std::string& own, const std::string& part, bool is_own, const std::string& our, i64 n);
  void norm_of_output(const std::string& our);

  TensorMapping build_t5();
  void add_stack(const std::string& stack, i64 layers);
  void add_cross_attention(const std::string& name = "cross_attention.");
  TensorMapping build_retro();
  void add_neighbor_encoder();
  void add_relative_positions();
  void add_layer();
  void add_bert_heads();
  void add_attention();
  void add_latent_attention();
  void add_qkv(bool bias);
  void add_mlp(const std::string& name, i64 width, bool bias);
  void add_halves(const std::string& name, const Shape& their_shape, const Shape& our_shape);
  void add_experts();
  void add_latent_experts();
  void add_of_experts(const std::string& name, Shape their_shape, Shape our_shape);
  void add_shared_experts();
  void add_mtp_module();

  const ModelConfig& m_;
  MegatronLayers layers_;
  i64 rows_;
  const HasTensor& has_;
  MegatronExperts experts_;
  std::string stack_ = is_bert() ? "encoder" : "decoder";  // whose layers are being added
  i64 layers_of_stack_ = m_.num_layers;
  bool has_own_mlp_norm_ = false;  // of a layer: the norm is a module that holds one more
  i64 layer_ = 0, module_ = -1;    // of multi-token prediction; -1: a layer of the stack
  std::vector<bool> mixtures_;     // by layer; none: no layer is one
  TensorMapping map_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace megalith
