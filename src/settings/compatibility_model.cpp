// Rules about the model's shape.
#include "settings/compatibility.h"
#include "settings/precision.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

// Models are also checked when loaded, so rules here allow 0 for a missing size: the run's rules require it.

std::string heads_divide(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.kv_channels != 0 || m.num_attention_heads == 0 || m.hidden_size % m.num_attention_heads == 0) return {};
  return fmt::format(
      "--hidden-size {} is not divisible by --num-attention-heads {}: change one, or give the head width by "
      "--kv-channels",
      m.hidden_size, m.num_attention_heads);
}

std::string groups_divide(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.num_query_groups == 0 || m.num_attention_heads % m.num_query_groups == 0) return {};
  return fmt::format("--num-attention-heads {} is not divisible by --num-query-groups {}: give a divisor of the heads",
                     m.num_attention_heads, m.num_query_groups);
}

std::string positions_suffice(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.max_position_embeddings >= m.seq_length) return {};
  return fmt::format("--max-position-embeddings {} is less than --seq-length {}: raise it", m.max_position_embeddings,
                     m.seq_length);
}

std::string swiglu_width(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.activation != Activation::swiglu || m.ffn_hidden_size > 0 || m.hidden_size == 0) return {};
  return fmt::format("--hidden-size {} with --swiglu leaves an MLP of width 0: give --ffn-hidden-size", m.hidden_size);
}

std::string one_activation(const Options& o) {
  const std::string flags = o.given.contradiction("activation");
  return flags.empty() ? "" : flags + " contradict each other: give one activation";
}

std::string one_position_type(const Options& o) {
  const std::string flags = o.given.contradiction("position-embedding-type");
  return flags.empty() ? "" : flags + " contradict each other: give one kind of positions";
}

std::string rotary_part(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.rotary_percent > 0 && m.rotary_percent <= 1) return {};
  return fmt::format("--rotary-percent {} is out of range: more than 0 and at most 1 is wanted", m.rotary_percent);
}

std::string rotary_width(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.position_embedding_type != PositionEmbedding::rope || m.mla.on()) return {};
  if (m.kv_channels == 0 || !rotary_part(o).empty()) return {};
  const i64 width = i64(double(m.kv_channels) * m.rotary_percent), turned = (width + 1) / 2 * 2;
  if (width > 0 && turned <= m.kv_channels) return {};
  return fmt::format(
      "rope rotates pairs, but {} of the {} channels of a head are to be rotated: an even number is wanted, or an odd "
      "one with a channel left to make it even; change --kv-channels or --rotary-percent",
      width, m.kv_channels);
}

std::string rotary_numbers(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.rotary_base <= 0) return fmt::format("--rotary-base {} must be positive", m.rotary_base);
  if (m.rotary_seq_len_interpolation_factor <= 0)
    return fmt::format("--rotary-seq-len-interpolation-factor {} must be positive",
                       m.rotary_seq_len_interpolation_factor);
  return {};
}

std::string rotary_without_rope(const Options& o) {
  if (o.model.position_embedding_type == PositionEmbedding::rope) return {};
  for (const char* field :
       {"rotary-base", "rotary-percent", "rotary-interleaved", "rotary-seq-len-interpolation-factor"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --position-embedding-type rope", field);
  return {};
}

std::string shared_norm(const Options& o) {
  if (!o.model.parallel_shared_norm || o.model.parallel_residual) return {};
  return "--parallel-shared-norm needs --parallel-residual";
}

std::string norms_of_outputs(const Options& o) {
  if (!o.model.norm_block_output || !o.model.parallel_residual) return {};
  return "--norm-block-output and --parallel-residual contradict each other: norms are after each block, or before "
         "both";
}

std::string across_heads(const Options& o) {
  if (!o.model.qk_layernorm_across_heads || o.model.qk_layernorm) return {};
  return "--qk-layernorm-across-heads needs --qk-layernorm";
}

std::string dropout(const Options& o) {
  const ModelConfig& m = o.model;
  const auto bad = [](double p) { return p < 0 || p >= 1; };
  if (bad(m.attention_dropout))
    return fmt::format("--attention-dropout {} is out of range: from 0 to below 1 is wanted", m.attention_dropout);
  if (bad(m.hidden_dropout))
    return fmt::format("--hidden-dropout {} is out of range: from 0 to below 1 is wanted", m.hidden_dropout);
  return {};
}

std::string numbers(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.norm_epsilon <= 0) return fmt::format("--norm-epsilon {} must be positive", m.norm_epsilon);
  if (m.embedding_init_method_std < 0)
    return fmt::format("--embedding-init-method-std {} must not be negative", m.embedding_init_method_std);
  if (m.init_method_std < 0) return fmt::format("--init-method-std {} must not be negative", m.init_method_std);
  return {};
}

std::string residual_precision(const Options& o) {
  if (!o.model.fp32_residual_connection || precision_of(o).activations != DType::f32) return {};
  return "--fp32-residual-connection has no effect without --bf16 or --fp16: all is computed in f32";
}

std::string alibi_scale(const Options& o) {
  if (!o.model.scale_alibi || o.model.position_embedding_type == PositionEmbedding::alibi) return {};
  return "--scale-alibi has no effect without --position-embedding-type alibi";
}

std::string padding(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.padded_vocab_size == 0 || m.padded_vocab_size >= m.vocab_size) return {};
  return fmt::format("--padded-vocab-size {} is less than the {} tokens of the vocabulary: leave it out or raise it",
                     m.padded_vocab_size, m.vocab_size);
}

std::string prediction_depths(const Options& o) {
  const ModelConfig& m = o.model;
  const MtpConfig& c = m.mtp;
  if (c.num_layers > 0 && m.seq_length > 0 && c.num_layers >= m.seq_length)
    return fmt::format("--mtp-num-layers {} is not less than --seq-length {}: the last depth has nothing to predict",
                       c.num_layers, m.seq_length);
  if (c.loss_scaling_factor >= 0) return {};
  return fmt::format("--mtp-loss-scaling-factor {} is negative: want 0 or more", c.loss_scaling_factor);
}

std::string prediction_by_experts(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.mtp.use_repeated_layer || m.mtp.num_layers < 2 || m.moe.num_experts == 0) return {};
  return "--mtp-use-repeated-layer is not built with --num-experts: leave it out";
}

std::string prediction_is_on(const Options& o) {
  if (o.model.mtp.num_layers > 0) return {};
  for (const char* field : {"mtp-loss-scaling-factor", "mtp-use-repeated-layer", "mtp-detach-heads"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --mtp-num-layers", field);
  return {};
}

std::string prediction_positions(const Options& o) {
  if (o.model.mtp.num_layers == 0 || o.model.position_embedding_type != PositionEmbedding::learned_absolute) return {};
  return fmt::format("--mtp-num-layers {} is not built with learned positions: give --position-embedding-type rope",
                     o.model.mtp.num_layers);
}

}  // namespace

std::vector<Rule> model_rules() {
  return {
      {"num-attention-heads divides hidden-size, unless kv-channels is given", Topic::model, Action::refuse,
       heads_divide},
      {"num-query-groups divides num-attention-heads", Topic::model, Action::refuse, groups_divide},
      {"max-position-embeddings is at least seq-length", Topic::model, Action::refuse, positions_suffice},
      {"with swiglu, hidden-size is large enough for a default MLP width", Topic::model, Action::refuse, swiglu_width},
      {"one activation is given", Topic::model, Action::refuse, one_activation},
      {"one kind of positions is given", Topic::model, Action::refuse, one_position_type},
      {"rotary-percent is more than 0 and at most 1", Topic::model, Action::refuse, rotary_part},
      {"the rotated part of a head has an even size", Topic::model, Action::refuse, rotary_width},
      {"rotary numbers are positive", Topic::model, Action::refuse, rotary_numbers},
      {"rotary flags come with rope", Topic::model, Action::warn, rotary_without_rope},
      {"parallel-shared-norm comes with parallel-residual", Topic::model, Action::refuse, shared_norm},
      {"norm-block-output comes without parallel-residual", Topic::model, Action::refuse, norms_of_outputs},
      {"qk-layernorm-across-heads comes with qk-layernorm", Topic::model, Action::refuse, across_heads},
      {"dropout is from 0 to below 1", Topic::model, Action::refuse, dropout},
      {"norm-epsilon is positive, deviations of initial weights are not negative", Topic::model, Action::refuse,
       numbers},
      {"fp32-residual-connection comes with bf16 or fp16", Topic::model, Action::warn, residual_precision},
      {"scale-alibi comes with alibi", Topic::model, Action::warn, alibi_scale},
      {"padded-vocab-size is at least the vocabulary", Topic::model, Action::refuse, padding},
      {"mtp-num-layers is less than seq-length, and its loss has no negative factor", Topic::model, Action::refuse,
       prediction_depths},
      {"mtp-use-repeated-layer comes without experts", Topic::model, Action::refuse, prediction_by_experts},
      {"flags about multi-token prediction come with mtp-num-layers", Topic::model, Action::warn, prediction_is_on},
      {"multi-token prediction comes without learned positions", Topic::model, Action::refuse, prediction_positions},
  };
}

}  // namespace megalith
