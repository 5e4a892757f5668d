// How settings map to the families, and which families can express a model.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ckpt/hf/hf_config.h"

namespace megalith {
namespace {

std::string_view name_of(PositionEmbedding p) {
  constexpr std::string_view names[] = {"learned_absolute", "rope", "alibi", "none", "yarn", "relative"};
  return names[int(p)];
}
std::string_view name_of(Activation a) {
  constexpr std::string_view names[] = {"gelu", "gelu_tanh", "swiglu", "squared_relu", "geglu", "quick_geglu", "relu"};
  return names[int(a)];
}

void describe_rope(const ModelConfig& m, std::vector<std::pair<std::string, std::string>>& list) {
  list.emplace_back("rotary_base", fmt::to_string(m.rotary_base));
  list.emplace_back("rotary_percent", fmt::to_string(m.rotary_percent));
  list.emplace_back("rotary_interleaved", fmt::to_string(m.rotary_interleaved));
  list.emplace_back("rotary_seq_len_interpolation_factor", fmt::to_string(m.rotary_seq_len_interpolation_factor));
  list.emplace_back("rope_scaling", m.rope_scaling.text());
}

void describe_latent_attention(const ModelConfig& m, std::vector<std::pair<std::string, std::string>>& list) {
  list.emplace_back("q_lora_rank", fmt::to_string(m.mla.q_lora_rank));
  list.emplace_back("kv_lora_rank", fmt::to_string(m.mla.kv_lora_rank));
  list.emplace_back("qk_head_dim", fmt::to_string(m.mla.qk_head_dim));
  list.emplace_back("qk_pos_emb_head_dim", fmt::to_string(m.mla.qk_pos_emb_head_dim));
  list.emplace_back("v_head_dim", fmt::to_string(m.mla.v_head_dim));
  if (m.qk_layernorm)
    list.emplace_back("mla_norm_epsilon", fmt::to_string(m.mla.norm_epsilon > 0 ? m.mla.norm_epsilon : m.norm_epsilon));
}

void describe_encoder_decoder(const ModelConfig& m, std::vector<std::pair<std::string, std::string>>& list) {
  const T5ModelConfig& t = m.t5;
  list.emplace_back("decoder_num_layers", fmt::to_string(t.decoder_num_layers));
  list.emplace_back("unscaled_attention", fmt::to_string(t.unscaled_attention));
  list.emplace_back("scale_decoder_outputs", fmt::to_string(t.scale_decoder_outputs));
  list.emplace_back("a bias of the head", fmt::to_string(!m.untie_embeddings_and_output_weights && !t.no_head_bias));
  if (m.position_embedding_type != PositionEmbedding::relative) return;
  list.emplace_back("relative_attention_num_buckets", fmt::to_string(t.relative_attention_num_buckets));
  list.emplace_back("relative_attention_max_distance", fmt::to_string(t.relative_attention_max_distance));
}

void describe_experts(const ModelConfig& m, std::vector<std::pair<std::string, std::string>>& list) {
  const MoeConfig& e = m.moe;
  const std::vector<bool> mixtures = e.pattern(m.num_layers);
  if (mixtures.empty() || std::ranges::count(mixtures, false) > 0)
    list.emplace_back("ffn_hidden_size", fmt::to_string(m.ffn_hidden_size));
  list.emplace_back("num_experts", fmt::to_string(e.num_experts));
  if (e.num_experts == 0) return;
  std::string layers;
  for (const bool is_mixture : mixtures) layers += is_mixture ? "1" : "0";
  const bool groups = e.router_num_groups > 1;
  list.insert(list.end(), {{"layers with experts", layers},
                           {"moe_ffn_hidden_size", fmt::to_string(m.expert_width())},
                           {"moe_router_topk", fmt::to_string(e.router_topk)},
                           {"moe_router_score_function", std::string(name_of(e.router_score_function))},
                           {"moe_router_pre_softmax", fmt::to_string(e.router_pre_softmax)},
                           {"moe_router_topk_scaling_factor", fmt::to_string(e.router_topk_scaling_factor.value_or(1))},
                           {"moe_router_num_groups", fmt::to_string(groups ? e.router_num_groups : 0)},
                           {"moe_router_group_topk", fmt::to_string(groups ? e.router_group_topk : 0)},
                           {"moe_router_enable_expert_bias", fmt::to_string(e.router_enable_expert_bias)},
                           {"moe_expert_capacity_factor", fmt::to_string(e.expert_capacity_factor.value_or(0))},
                           {"moe_apply_probs_on_input", fmt::to_string(e.apply_probs_on_input)},
                           {"moe_shared_expert_intermediate_size", fmt::to_string(e.shared_expert_intermediate_size)},
                           {"moe_shared_expert_gate", fmt::to_string(e.shared_expert_gate)},
                           {"moe_latent_size", fmt::to_string(e.latent_size)}});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe(const ModelConfig& m) {
  std::vector<std::pair<std::string, std::string>> list = {
      {"architecture", std::string(name_of(m.architecture))},
      {"num_layers", fmt::to_string(m.num_layers)},
      {"hidden_size", fmt::to_string(m.hidden_size)},
      {"num_attention_heads", fmt::to_string(m.num_attention_heads)},
      {"num_query_groups", fmt::to_string(m.num_query_groups)},
      {"kv_channels", fmt::to_string(m.mla.on() ? m.mla.head() : m.kv_channels)},
      {"multi_latent_attention", fmt::to_string(m.mla.on())},
      {"vocab_size", fmt::to_string(m.vocab_size)},
      {"position_embedding_type", std::string(name_of(m.position_embedding_type))},
      {"activation", std::string(name_of(m.activation))},
      {"normalization", m.normalization == Normalization::layer_norm ? "LayerNorm" : "RMSNorm"},
      {"norm_epsilon", fmt::to_string(m.norm_epsilon)},
      {"qk_layernorm", fmt::to_string(m.qk_layernorm)},
      {"qk_layernorm_across_heads", fmt::to_string(m.qk_layernorm && m.qk_layernorm_across_heads)},
      {"apply_layernorm_1p", fmt::to_string(m.apply_layernorm_1p)},
      {"norm_block_output", fmt::to_string(m.norm_block_output)},
      {"embedding_layernorm", fmt::to_string(m.embedding_layernorm)},
      {"scale_embedding", fmt::to_string(m.scale_embedding)},
      {"biases on q, k and v", fmt::to_string(m.qkv_bias())},
      {"a bias on the attention's output", fmt::to_string(m.attention_bias())},
      {"biases in the MLP", fmt::to_string(m.mlp_bias())},
      {"untie_embeddings_and_output_weights", fmt::to_string(m.untie_embeddings_and_output_weights)},
      {"parallel_residual", fmt::to_string(m.parallel_residual)},
      {"parallel_shared_norm", fmt::to_string(m.parallel_residual && m.parallel_shared_norm)},
      {"sliding_window", fmt::to_string(m.sliding_window)}};
  describe_experts(m, list);
  if (m.is_t5()) describe_encoder_decoder(m, list);
  if (m.mla.on()) describe_latent_attention(m, list);
  if (m.architecture == Architecture::bert)
    list.insert(list.end(), {{"bert_no_binary_head", fmt::to_string(m.bert.no_binary_head)},
                             {"bert_post_norm", fmt::to_string(m.bert.post_norm)},
                             {"bert_token_types", fmt::to_string(m.bert.token_types)}});
  if (m.position_embedding_type == PositionEmbedding::learned_absolute)
    list.emplace_back("max_position_embeddings", fmt::to_string(m.max_position_embeddings));
  if (m.position_embedding_type == PositionEmbedding::rope) describe_rope(m, list);
  if (m.position_embedding_type == PositionEmbedding::alibi)
    list.emplace_back("scale_alibi", fmt::to_string(m.scale_alibi));
  return list;
}

const HfFamily& choose_hf_family(const ModelConfig& model) {
  constexpr std::string_view kMark = "[hf] ";
  check_sizes_known(model);
  std::vector<std::string> reasons;
  for (const HfFamily* family : hf_families()) {
    if (family->kind != model.architecture) continue;
    try {
      write_hf_config({.family = family, .model = model});
      return *family;
    } catch (const Error& e) {
      const std::string_view reason = e.what();
      reasons.emplace_back(reason.substr(reason.starts_with(kMark) ? kMark.size() : 0));
    }
  }
  check(!reasons.empty(), "[hf] Hugging Face has no {}: write native", name_of(model.architecture));
  fail("[hf] no Hugging Face architecture that we write can express this model: {}", fmt::join(reasons, "; "));
}

}  // namespace megalith
