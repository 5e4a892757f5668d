// The features of a model that Megatron's arguments cannot express.
#include <fmt/ranges.h>

#include "ckpt/torch/megatron_common.h"

namespace megalith {

static std::string rope_unknown_to_megatron(const ModelConfig& m) {
  using Kind = RopeScaling::Kind;
  const RopeScaling& s = m.rope_scaling;
  RopeScaling usual = {.kind = s.kind, .factor = s.factor};
  if (s.kind == Kind::dynamic || s.kind == Kind::longrope) return fmt::format("{} rope", name_of(s.kind));
  if (s.kind == Kind::yarn && s.attention_factor) return "yarn with a given attention factor";
  if (s.kind == Kind::yarn && m.mla.on() && !s.whole_ends) return "yarn with a ramp of unrounded ends";
  if (s.kind != Kind::llama3) return {};
  if (m.mla.on()) return "llama3 rope with multi-head latent attention";
  resolve(usual, false, 0);
  if (s == usual) return {};
  return fmt::format("rope scaling with factors {} and {} from {} positions ({}, {} and {} there)", s.low_freq_factor,
                     s.high_freq_factor, s.original_length, usual.low_freq_factor, usual.high_freq_factor,
                     usual.original_length);
}

std::string unknown_to_megatron(const ModelConfig& m) {
  std::vector<std::string> parts;
  if (m.position_embedding_type == PositionEmbedding::alibi) parts.push_back("ALiBi");
  if (m.parallel_residual) parts.push_back("attention and MLP side by side");
  if (!m.add_bias_linear && (m.add_attention_bias || m.add_mlp_bias)) parts.push_back("biases in some linears only");
  if (m.embedding_layernorm) parts.push_back("a norm behind the embedding");
  if (m.scale_embedding) parts.push_back("a scaled embedding");
  if (m.activation == Activation::geglu) parts.push_back("an MLP gated by GELU");
  if (m.bert.post_norm) parts.push_back("norms behind attention and MLP, of the stream");
  if (m.architecture == Architecture::bert && m.bert.token_types != (m.bert.binary_head() ? 2 : 0))
    parts.push_back(fmt::format("{} token types {} a binary head", m.bert.token_types,
                                m.bert.binary_head() ? "beside" : "without"));
  if (m.activation == Activation::relu) parts.push_back("an MLP with relu");
  if (m.is_t5() && m.t5.unscaled_attention) parts.push_back("attention that does not scale its scores");
  if (m.is_t5() && m.t5.scale_decoder_outputs) parts.push_back("a head that reads scaled outputs");
  if (m.is_t5() && m.t5.no_head_bias && !m.untie_embeddings_and_output_weights)
    parts.push_back("a tied head without a bias");
  if (m.norm_block_output) parts.push_back("norms behind attention and MLP");
  if (m.qk_layernorm && m.qk_layernorm_across_heads) parts.push_back("norms of queries and keys across heads");
  if (m.qk_layernorm && m.normalization == Normalization::layer_norm)
    parts.push_back("RMS norms of queries and keys beside LayerNorm");
  const MoeConfig& moe = m.moe;
  if (moe.num_experts > 0 && moe.router_num_groups > 0 && moe.router_group_topk > 0 &&
      moe.group_best() != moe.router_topk / moe.router_group_topk)
    parts.push_back(fmt::format("groups of experts by the sum of {} best beside {} of {} experts", moe.group_best(),
                                moe.router_topk, moe.router_group_topk));
  if (const std::string rope = rope_unknown_to_megatron(m); !rope.empty()) parts.push_back(rope);
  if (m.mla.on() && m.qk_layernorm && m.mla.norm_epsilon > 0 && m.mla.norm_epsilon != m.norm_epsilon)
    parts.push_back(fmt::format("norms of latents with epsilon {} beside {}", m.mla.norm_epsilon, m.norm_epsilon));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace megalith
