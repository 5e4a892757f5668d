// Rules about encoder-decoders (T5).
#include <numeric>

#include "ops/relative_positions.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string of_encoder_decoders(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.is_t5()) return {};
  if (m.position_embedding_type == PositionEmbedding::relative)
    return "--position-embedding-type relative is of encoder-decoders (pretrain-t5): give rope";
  for (const char* field :
       {"decoder-num-layers", "decoder-seq-length", "unscaled-attention", "scale-decoder-outputs", "no-head-bias"})
    if (o.given.has(field)) return fmt::format("--{} is of encoder-decoders (pretrain-t5): leave it out", field);
  return {};
}

std::string decoder_sizes(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.is_t5()) return {};
  const T5ModelConfig& t = m.t5;
  if (t.decoder_seq_length < 1)
    return fmt::format("--decoder-seq-length {}: a T5 needs the length of the decoder's text, 1 or more",
                       t.decoder_seq_length);
  if (t.decoder_num_layers < 0 || t.decoder_num_layers > (1 << 20))
    return fmt::format("--decoder-num-layers {} is out of range: from 0 to {} is wanted", t.decoder_num_layers,
                       1 << 20);
  if (m.position_embedding_type != PositionEmbedding::learned_absolute ||
      m.max_position_embeddings >= t.decoder_seq_length)
    return {};
  return fmt::format("--max-position-embeddings {} is less than --decoder-seq-length {}: raise it",
                     m.max_position_embeddings, t.decoder_seq_length);
}

std::string buckets(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.is_t5() || m.position_embedding_type != PositionEmbedding::relative) return {};
  try {
    check_relative_buckets(true, m.t5.relative_attention_num_buckets, m.t5.relative_attention_max_distance);
    check_relative_buckets(false, m.t5.relative_attention_num_buckets, m.t5.relative_attention_max_distance);
  } catch (const Error& e) {
    return fmt::format("--relative-attention-num-buckets, --relative-attention-max-distance: {}", e.what());
  }
  return {};
}

std::string layers_of_both(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.is_t5()) return {};
  if (m.num_query_groups != m.num_attention_heads)
    return fmt::format("--num-query-groups {} with a T5: each of its {} heads has separate keys; leave it out",
                       m.num_query_groups, m.num_attention_heads);
  const PositionEmbedding p = m.position_embedding_type;
  if (p == PositionEmbedding::alibi || m.rope_scaling.kind == RopeScaling::Kind::yarn)
    return "--position-embedding-type alibi and yarn are not built for a T5: give relative, rope or learned_absolute";
  const std::pair<bool, const char*> others[] = {{m.moe.num_experts > 0, "--num-experts"},
                                                 {m.mtp.num_layers > 0, "--mtp-num-layers"},
                                                 {m.mla.on(), "--multi-latent-attention"},
                                                 {m.sliding_window > 0, "--sliding-window"},
                                                 {m.qk_layernorm, "--qk-layernorm"},
                                                 {m.parallel_residual, "--parallel-residual"},
                                                 {m.norm_block_output, "--norm-block-output"},
                                                 {m.embedding_layernorm, "--embedding-layernorm"},
                                                 {m.scale_embedding, "--scale-embedding"},
                                                 {o.data.reset_position_ids, "--reset-position-ids"},
                                                 {o.data.reset_attention_mask, "--reset-attention-mask"},
                                                 {o.data.eod_mask_loss, "--eod-mask-loss"}};
  for (const auto& [is_on, flag] : others)
    if (is_on) return fmt::format("{} is not built for a T5: leave it out", flag);
  return {};
}

std::string encoder_stages(const Options& o) {
  const i64 n = o.parallel.encoder_pipeline_model_parallel_size;
  if (n == 0) return {};
  if (!o.model.is_t5())
    return fmt::format("--encoder-pipeline-model-parallel-size {} is of encoder-decoders (pretrain-t5): leave it out",
                       n);
  if (!o.parallel.pipeline_layout.empty())
    return fmt::format(
        "--pipeline-model-parallel-layout says all about the stages: instead of --encoder-pipeline-model-parallel-size "
        "{} give --pipeline-model-parallel-size {}",
        n, o.parallel.stages());
  return {};
}

std::string decoder_divides(const Options& o) {
  if (!o.model.is_t5()) return {};
  const ParallelConfig& p = o.parallel;
  const i64 tp = p.sequence_parallel ? p.tensor_model_parallel_size : 1, cp = p.context_parallel_size;
  const i64 ranks = std::lcm(tp * cp, cp > 1 ? 2 * cp : 1), s = o.model.t5.decoder_seq_length;
  if (s % ranks == 0) return {};
  return fmt::format(
      "--decoder-seq-length {} is not a multiple of {}, as --sequence-parallel and --context-parallel-size ask for: "
      "use {}",
      s, ranks, (s / ranks + 1) * ranks);
}

}  // namespace

std::vector<Rule> encoder_decoder_rules() {
  return {
      {"flags of encoder-decoders come with architecture t5", Topic::model, Action::refuse, of_encoder_decoders},
      {"a T5 has a decoder's length, within max-position-embeddings", Topic::model, Action::refuse, decoder_sizes},
      {"buckets of relative positions are enough for both sides", Topic::model, Action::refuse, buckets},
      {"a T5 has standard layers", Topic::model, Action::refuse, layers_of_both},
      {"an encoder's stages come with a T5", Topic::run, Action::refuse, encoder_stages},
      {"decoder-seq-length is a multiple of what splits it", Topic::run, Action::refuse, decoder_divides},
  };
}

}  // namespace megalith
