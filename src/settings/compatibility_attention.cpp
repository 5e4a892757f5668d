// Rules about rope scaling and multi-head latent attention.
#include <algorithm>
#include <array>

#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;
using Kind = RopeScaling::Kind;

bool is_scaled(const Options& o) { return o.model.rope_scaling.kind > Kind::none; }

std::string scaling_needs_rope(const Options& o) {
  if (!is_scaled(o) || o.model.position_embedding_type == PositionEmbedding::rope) return {};
  return fmt::format("--rope-scaling-type {} needs --position-embedding-type rope", name_of(o.model.rope_scaling.kind));
}

std::string llama3_numbers(const RopeScaling& s) {
  if (s.factor > 0 && s.low_freq_factor > 0 && s.high_freq_factor > s.low_freq_factor) return {};
  return fmt::format(
      "rope scaling needs positive factors with low < high: --rope-scaling-factor {}, --rope-low-freq-factor {}, "
      "--rope-high-freq-factor {}",
      s.factor, s.low_freq_factor, s.high_freq_factor);
}

std::string yarn_numbers(const ModelConfig& m) {
  const RopeScaling& s = m.rope_scaling;
  if (m.rotary_base == 1) return "--rotary-base 1 leaves yarn no frequencies to scale: give a larger one";
  if (s.factor >= 1 && s.beta_slow > 0 && s.beta_fast > s.beta_slow && s.mscale >= 0 && s.mscale_all_dim >= 0)
    return {};
  return fmt::format(
      "yarn needs a factor from 1, turns with slow < fast, and mscales from 0: --rope-scaling-factor {}, "
      "--yarn-beta-slow {}, --yarn-beta-fast {}, --mscale {}, --mscale-all-dim {}",
      s.factor, s.beta_slow, s.beta_fast, s.mscale, s.mscale_all_dim);
}

// Channels of a head that turn.
i64 turned(const ModelConfig& m) {
  return m.mla.on() ? m.mla.qk_pos_emb_head_dim : (i64(double(m.kv_channels) * m.rotary_percent) + 1) / 2 * 2;
}

using Factors = std::pair<const char*, const std::vector<double>*>;
std::array<Factors, 2> factors_of(const RopeScaling& s) {
  return {Factors{"--rope-short-factor", &s.short_factors}, {"--rope-long-factor", &s.long_factors}};
}

std::string longrope_numbers(const ModelConfig& m) {
  const RopeScaling& s = m.rope_scaling;
  const i64 pairs = turned(m) / 2;
  for (const auto& [flag, list] : factors_of(s))
    if (i64(list->size()) != pairs)
      return fmt::format("{} has {} numbers: longrope needs one for each of the {} pairs that turn", flag, list->size(),
                         pairs);
  if (s.factor > 0 && s.original_length > 1) return {};
  return fmt::format(
      "longrope needs a factor above 0 and an original length above 1: --rope-scaling-factor {}, "
      "--rope-original-max-position-embeddings {}",
      s.factor, s.original_length);
}

std::string scaling_numbers(const Options& o) {
  const ModelConfig& m = o.model;
  const RopeScaling& s = m.rope_scaling;
  if (s.attention_factor && *s.attention_factor <= 0)
    return fmt::format("--rope-attention-factor {} must be positive", *s.attention_factor);
  for (const auto& [flag, list] : factors_of(s))
    for (const double x : *list)
      if (!(x > 0)) return fmt::format("{} has the number {}: give numbers above 0", flag, x);
  switch (s.kind) {
    case Kind::llama3:
      return llama3_numbers(s);
    case Kind::yarn:
      return yarn_numbers(m);
    case Kind::longrope:
      return longrope_numbers(m);
    case Kind::dynamic:
      if (s.factor >= 1 && turned(m) > 2) return {};
      return fmt::format(
          "dynamic rope needs a factor from 1 and more than 2 channels that turn: --rope-scaling-factor "
          "{}, {} channels",
          s.factor, turned(m));
    default:
      return {};
  }
}

std::string unused_scaling(const Options& o) {
  if (is_scaled(o)) {
    for (const char* field : {"rope-short-factor", "rope-long-factor"})
      if (o.given.has(field) && o.model.rope_scaling.kind != Kind::longrope)
        return fmt::format("--{} has no effect: only --rope-scaling-type longrope reads it", field);
    return {};
  }
  for (const char* field :
       {"rope-scaling-factor", "rope-low-freq-factor", "rope-high-freq-factor", "rope-original-max-position-embeddings",
        "yarn-beta-fast", "yarn-beta-slow", "rope-attention-factor", "rope-short-factor", "rope-long-factor"})
    if (o.given.has(field)) return fmt::format("--{} has no effect: rope is not scaled (--rope-scaling-type)", field);
  return {};
}

std::string latent_positions(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.mla.on()) return {};
  if (m.position_embedding_type != PositionEmbedding::rope)
    return "--multi-latent-attention needs --position-embedding-type rope";
  if (m.mla.qk_pos_emb_head_dim % 2 != 0)
    return fmt::format("--qk-pos-emb-head-dim {} is odd: pairs turn, give an even one", m.mla.qk_pos_emb_head_dim);
  if (m.rotary_percent != 1)
    return fmt::format(
        "--rotary-percent {} with --multi-latent-attention: --qk-pos-emb-head-dim gives the rotated dims",
        m.rotary_percent);
  if (m.rotary_interleaved)
    return "--rotary-interleaved with --multi-latent-attention: its pairs are neighbours always, leave it out";
  return {};
}

std::string latent_groups(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.mla.on() || m.num_query_groups == 0 || m.num_query_groups == m.num_attention_heads) return {};
  return fmt::format(
      "--num-query-groups {} with --multi-latent-attention: each of the {} heads has separate keys, leave it (and "
      "--group-query-attention) out",
      m.num_query_groups, m.num_attention_heads);
}

std::string latent_biases(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.mla.on() || !(m.add_qkv_bias || m.add_attention_bias)) return {};
  return fmt::format(
      "--{} with --multi-latent-attention: its projections of queries, keys and values have no biases, "
      "leave it out",
      m.add_qkv_bias ? "add-qkv-bias" : "add-attention-bias");
}

std::string latent_norms(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.mla.on()) return {};
  if (m.qk_layernorm_across_heads)
    return "--qk-layernorm-across-heads with --multi-latent-attention: norms are of the latents, leave it out";
  if (m.mla.norm_epsilon < 0) return fmt::format("--mla-norm-epsilon {} must not be negative", m.mla.norm_epsilon);
  return {};
}

std::string latent_sizes_used(const Options& o) {
  if (o.model.mla.on())
    return o.given.has("kv-channels")
               ? "--kv-channels has no effect with --multi-latent-attention: --qk-head-dim, --qk-pos-emb-head-dim and "
                 "--v-head-dim say how wide heads are"
               : "";
  for (const char* field :
       {"q-lora-rank", "kv-lora-rank", "qk-head-dim", "qk-pos-emb-head-dim", "v-head-dim", "mla-norm-epsilon"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --multi-latent-attention", field);
  return {};
}

}  // namespace

std::vector<Rule> attention_rules() {
  return {
      {"rope scaling comes with rope", Topic::model, Action::refuse, scaling_needs_rope},
      {"rope scaling has the numbers that its kind needs", Topic::model, Action::refuse, scaling_numbers},
      {"numbers of rope scaling come with its kind", Topic::model, Action::warn, unused_scaling},
      {"multi-latent-attention comes with rope, of an even part of the head", Topic::model, Action::refuse,
       latent_positions},
      {"multi-latent-attention comes without query groups", Topic::model, Action::refuse, latent_groups},
      {"multi-latent-attention comes without biases on queries, keys and values", Topic::model, Action::refuse,
       latent_biases},
      {"norms of multi-latent-attention are of the latents", Topic::model, Action::refuse, latent_norms},
      {"sizes of latent attention come with multi-latent-attention", Topic::model, Action::warn, latent_sizes_used},
  };
}

}  // namespace megalith
