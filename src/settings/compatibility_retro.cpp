// Rules about retrieval in the model (RETRO).
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string of_retro(const Options& o) {
  if (o.model.is_retro()) return {};
  for (const char* field : {"retro-add-retriever", "retro-chunk-length", "retro-num-neighbors",
                            "retro-num-retrieved-chunks", "retro-encoder-layers", "retro-encoder-hidden-dropout",
                            "retro-encoder-attention-dropout", "retro-no-final-layernorm", "retro-project-dir"})
    if (o.given.has(field)) return fmt::format("--{} is of pretrain-retro: leave it out", field);
  return {};
}

std::string retro_sizes(const Options& o) {
  const ModelConfig& m = o.model;
  const RetroModelConfig& r = m.retro;
  if (!m.is_retro()) return {};
  constexpr i64 kMost = 1 << 20;
  for (const auto& [flag, value] : {std::pair<const char*, i64>{"--retro-chunk-length", r.chunk_length},
                                    {"--retro-num-neighbors", r.num_neighbors},
                                    {"--retro-num-retrieved-chunks", r.num_retrieved_chunks},
                                    {"--retro-encoder-layers", r.encoder_layers}})
    if (value < 1 || value > kMost)
      return fmt::format("{} {} is out of range: from 1 to {} is wanted", flag, value, kMost);
  for (const auto& [flag, value] :
       {std::pair<const char*, double>{"--retro-encoder-hidden-dropout", r.encoder_hidden_dropout},
        {"--retro-encoder-attention-dropout", r.encoder_attention_dropout}})
    if (!(value >= 0 && value < 1)) return fmt::format("{} {} is out of range: want 0 to less than 1", flag, value);
  return {};
}

std::string chunks_fit(const Options& o) {
  const ModelConfig& m = o.model;
  const RetroModelConfig& r = m.retro;
  if (!m.is_retro() || m.seq_length < 1 || r.chunk_length < 1) return {};
  if (m.seq_length % r.chunk_length != 0)
    return fmt::format("--seq-length {} is not a multiple of --retro-chunk-length {}: use {}", m.seq_length,
                       r.chunk_length, (m.seq_length / r.chunk_length + 1) * r.chunk_length);
  if (!m.retrieves()) return {};
  constexpr i64 kFewest = 6;  // the first layer that attends to neighbours is the sixth
  if (m.num_layers >= 1 && m.num_layers < kFewest)
    return fmt::format("--num-layers {}: a RETRO attends to neighbours from layer {} on: give {} or more", m.num_layers,
                       kFewest, kFewest);
  if (m.position_embedding_type == PositionEmbedding::learned_absolute &&
      m.max_position_embeddings < r.retrieved_length())
    return fmt::format("--max-position-embeddings {} is less than the {} tokens of a neighbour: raise it",
                       m.max_position_embeddings, r.retrieved_length());
  return {};
}

std::string layers_of_retro(const Options& o) {
  const ModelConfig& m = o.model;
  if (!m.retrieves()) return {};
  if (m.position_embedding_type == PositionEmbedding::alibi)
    return "--position-embedding-type alibi is not built for a RETRO: give rope or learned_absolute";
  const std::pair<bool, const char*> others[] = {
      {m.moe.num_experts > 0, "--num-experts"},
      {m.mtp.num_layers > 0, "--mtp-num-layers"},
      {m.mla.on(), "--multi-latent-attention"},
      {m.sliding_window > 0, "--sliding-window"},
      {m.qk_layernorm, "--qk-layernorm"},
      {m.parallel_residual, "--parallel-residual"},
      {m.norm_block_output, "--norm-block-output"},
      {m.embedding_layernorm, "--embedding-layernorm"},
      {m.scale_embedding, "--scale-embedding"},
      {o.data.sft, "--sft"},
      {o.data.fim.on, "--fim-data"},
      {o.data.multiple_validation_sets, "--multiple-validation-sets"},
      {o.data.reset_position_ids, "--reset-position-ids"},
      {o.data.reset_attention_mask, "--reset-attention-mask"},
      {o.recompute.granularity != RecomputeConfig::Granularity::none, "--recompute-granularity"},
      {o.offload.on, "--fine-grained-activation-offloading"},
      {o.quantize.on(), "--fp8-format"}};
  for (const auto& [is_on, flag] : others)
    if (is_on) return fmt::format("{} is not built for a RETRO: leave it out", flag);
  return {};
}

std::string layouts_of_retro(const Options& o) {
  if (!o.model.retrieves()) return {};
  const ParallelConfig& p = o.parallel;
  const std::pair<bool, const char*> others[] = {{p.pipeline_model_parallel_size > 1, "--pipeline-model-parallel-size"},
                                                 {p.context_parallel_size > 1, "--context-parallel-size"},
                                                 {p.sequence_parallel, "--sequence-parallel"}};
  for (const auto& [is_on, flag] : others)
    if (is_on)
      return fmt::format(
          "{} is not built for a RETRO: leave it out, and split by --tensor-model-parallel-size and data parallelism",
          flag);
  if (o.train.ckpt_format != SaveFormat::native)
    return "--ckpt-format: a RETRO is saved only in the native format: leave it out";
  return {};
}

}  // namespace

std::vector<Rule> retro_rules() {
  return {
      {"flags of retrieval need the architecture retro", Topic::model, Action::refuse, of_retro},
      {"numbers of chunks, neighbours and layers of a RETRO are within their ranges", Topic::model, Action::refuse,
       retro_sizes},
      {"a RETRO's sequence is a multiple of the chunk, and some layer attends to neighbours", Topic::model,
       Action::refuse, chunks_fit},
      {"a RETRO has standard layers", Topic::model, Action::refuse, layers_of_retro},
      {"a RETRO is split by tensor and data parallelism", Topic::run, Action::refuse, layouts_of_retro},
  };
}

}  // namespace megalith
