// Which numbers of Hugging Face's T5 are which numbers of ours. Nothing is transposed but the tables of relative
// positions, [buckets, heads] there.
//
//   HF                                           ours
//   shared                                       embedding.word_embeddings
//   STACK.block.N.layer.0.SelfAttention.q, k, v  STACK.layers.N.self_attention.linear_q, linear_k, linear_v
//   decoder.block.N.layer.1.EncDecAttention      decoder.layers.N.cross_attention
//   STACK.block.N.layer.M.DenseReluDense         STACK.layers.N.mlp, M: the last
//   STACK.block.0..relative_attention_bias       STACK_relative_pos_emb.relative_attention_bias
#include <fmt/format.h>

#include "ckpt/hf/hf_mapping.h"

namespace megalith {
namespace {

class T5Mapping {
 public:
  explicit T5Mapping(const ModelConfig& m) : m_(m) {}

  HfMapping build() {
    const Shape words = {m_.vocab_size, m_.hidden_size};
    map_.embedding = "shared.weight", map_.head = "lm_head.weight";
    flat(map_.embedding, words, "embedding.word_embeddings.weight", words);
    add_stack("encoder", m_.num_layers, false);
    add_stack("decoder", m_.t5.decoder_num_layers, true);
    if (m_.untie_embeddings_and_output_weights) flat(map_.head, words, "output_layer.weight", words);
    return std::move(map_);
  }

 private:
  void link(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape,
            const Strides& block) {
    map_.theirs.push_back({their, their_shape});
    map_.ours.push_back({our, our_shape});
    map_.links.push_back({map_.theirs.size() - 1, map_.ours.size() - 1, block});
  }
  void flat(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape) {
    link(their, their_shape, our, our_shape, Strides::flat(count(our_shape)));
  }
  void norm(const std::string& their, const std::string& our) {
    flat(their + ".weight", {m_.hidden_size}, our + ".weight", {m_.hidden_size});
  }

  void add_stack(const std::string& stack, i64 layers, bool crosses) {
    add_positions(stack);
    for (i64 n = 0; n < layers; ++n) {
      const std::string their = fmt::format("{}.block.{}.layer.", stack, n);
      const std::string our = fmt::format("{}.layers.{}.", stack, n);
      norm(their + "0.layer_norm", our + "input_layernorm");
      add_attention(their + "0.SelfAttention.", our + "self_attention.");
      if (crosses) norm(their + "1.layer_norm", our + "pre_cross_attn_layernorm");
      if (crosses) add_attention(their + "1.EncDecAttention.", our + "cross_attention.");
      const std::string last = their + (crosses ? "2." : "1.");
      norm(last + "layer_norm", our + "pre_mlp_layernorm");
      add_mlp(last + "DenseReluDense.", our + "mlp.");
    }
    norm(stack + ".final_layer_norm", stack + ".final_layernorm");
  }

  void add_positions(const std::string& stack) {
    const i64 k = m_.t5.relative_attention_num_buckets, n = m_.num_attention_heads;
    link(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", {k, n},
         stack + "_relative_pos_emb.relative_attention_bias.weight", {m_.groups(), m_.heads_per_group(), k},
         {.size = {1, n, k}, .ours = {0, k, 1}, .theirs = {0, 1, n}});
  }

  void add_attention(const std::string& their, const std::string& our) {
    const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = m_.hidden_size;
    flat(their + "q.weight", {g * r * d, h}, our + "linear_q.weight", {g, r, d, h});
    flat(their + "k.weight", {g * d, h}, our + "linear_k.weight", {g, d, h});
    flat(their + "v.weight", {g * d, h}, our + "linear_v.weight", {g, d, h});
    flat(their + "o.weight", {h, g * r * d}, our + "linear_proj.weight", {h, g, r, d});
  }

  void add_mlp(const std::string& their, const std::string& our) {
    const i64 h = m_.hidden_size, f = m_.ffn_hidden_size;
    if (m_.gated()) {
      map_.ours.push_back({our + "linear_fc1.weight", {2, f, h}});
      for (const i64 half : {0, 1}) {
        map_.theirs.push_back({fmt::format("{}wi_{}.weight", their, half), {f, h}});
        Strides block = Strides::flat(f * h);
        block.our_start = half * f * h;
        map_.links.push_back({map_.theirs.size() - 1, map_.ours.size() - 1, block});
      }
    } else {
      flat(their + "wi.weight", {f, h}, our + "linear_fc1.weight", {f, h});
    }
    flat(their + "wo.weight", {h, f}, our + "linear_fc2.weight", {h, f});
  }

  const ModelConfig& m_;
  HfMapping map_;
};

}  // namespace

HfMapping hf_t5_mapping(const ModelConfig& model) { return T5Mapping(model).build(); }

}  // namespace megalith
