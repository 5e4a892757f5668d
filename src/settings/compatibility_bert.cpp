// Rules about BERT.
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

bool is_bert(const Options& o) { return o.model.architecture == Architecture::bert; }

std::string bert_positions(const Options& o) {
  const PositionEmbedding p = o.model.position_embedding_type;
  if (!is_bert(o) || p == PositionEmbedding::learned_absolute || p == PositionEmbedding::rope) return {};
  return "--position-embedding-type: BERT has learned_absolute or rope: give one of them";
}

// Features of decoders that BERT lacks.
std::string bert_is_built(const Options& o) {
  if (!is_bert(o)) return {};
  const ModelConfig& m = o.model;
  std::string lines;
  const auto refuse = [&](bool is_on, const char* flag) {
    if (is_on) lines += fmt::format("{}{} is not built for BERT: leave it out", lines.empty() ? "" : "\n", flag);
  };
  refuse(m.moe.num_experts > 0, "--num-experts");
  refuse(m.mla.on(), "--multi-latent-attention");
  refuse(m.mtp.num_layers > 0, "--mtp-num-layers");
  refuse(m.sliding_window > 0, "--sliding-window");
  refuse(m.parallel_residual, "--parallel-residual");
  refuse(m.norm_block_output, "--norm-block-output");
  refuse(m.scale_embedding, "--scale-embedding");
  refuse(m.add_qkv_bias && !m.add_bias_linear, "--add-qkv-bias");
  refuse(m.add_attention_bias && !m.add_bias_linear, "--add-attention-bias");
  refuse(m.add_mlp_bias && !m.add_bias_linear, "--add-mlp-bias");
  return lines;
}

std::string bert_data_is_built(const Options& o) {
  if (!is_bert(o)) return {};
  const DataConfig& d = o.data;
  std::string lines;
  const auto refuse = [&](bool is_on, const char* flag) {
    if (is_on) lines += fmt::format("{}{} is not built for BERT: leave it out", lines.empty() ? "" : "\n", flag);
  };
  refuse(d.sft, "--sft");
  refuse(d.fim.on, "--fim-data");
  refuse(d.reset_position_ids && !d.sft, "--reset-position-ids");
  refuse(d.reset_attention_mask && !d.sft, "--reset-attention-mask");
  refuse(d.eod_mask_loss, "--eod-mask-loss");
  refuse(d.multiple_validation_sets, "--multiple-validation-sets");
  if (o.parallel.context_parallel_size > 1 && o.parallel.cp_comm_type == CpCommType::p2p)
    lines += fmt::format("{}--cp-comm-type p2p is built for causal attention only: give all_gather or a2a",
                         lines.empty() ? "" : "\n");
  return lines;
}

std::string token_types_suffice(const Options& o) {
  const i64 types = o.model.bert.token_types;
  if (types < -1) return fmt::format("--bert-token-types {}: want 0 or more, or -1", types);
  if (!is_bert(o) || types != 1 || !o.model.bert.binary_head()) return {};
  return "--bert-token-types 1: samples of two segments have two types: give 2 or more, or --bert-no-binary-head";
}

std::string bert_is_on(const Options& o) {
  if (is_bert(o)) return {};
  for (const char* field : {"bert-no-binary-head", "bert-post-norm", "bert-token-types"})
    if (o.given.has(field)) return fmt::format("--{} has no effect: it is for pretrain-bert", field);
  if (o.model.is_t5()) return {};
  for (const char* field : {"mask-prob", "short-seq-prob"})
    if (o.given.has(field)) return fmt::format("--{} has no effect: it is for pretrain-bert and pretrain-t5", field);
  return {};
}

std::string masking_shares(const Options& o) {
  const double mask = o.data.mask_prob, shorter = o.data.short_seq_prob;
  if (!(mask > 0 && mask < 1))
    return fmt::format("--mask-prob {} is out of range: want more than 0, less than 1", mask);
  if (!(shorter >= 0 && shorter <= 1)) return fmt::format("--short-seq-prob {} is out of range: want 0 to 1", shorter);
  return {};
}

std::string bert_seq_length(const Options& o) {
  constexpr i64 kLeast = 5;  // [CLS] A [SEP] B [SEP]
  if (!is_bert(o) || o.model.seq_length == 0 || o.model.seq_length >= kLeast) return {};
  return fmt::format("--seq-length {}: a sample of two segments takes {} tokens or more", o.model.seq_length, kLeast);
}

std::string rope_of_bert(const Options& o) {
  if (!is_bert(o) || o.model.position_embedding_type != PositionEmbedding::rope) return {};
  return "--position-embedding-type rope is honoured: Megatron's pretrain_bert.py would train learned positions";
}

}  // namespace

std::vector<Rule> bert_rules() {
  return {
      {"BERT has learned positions or rope", Topic::model, Action::refuse, bert_positions},
      {"BERT has no decoder-only features", Topic::model, Action::refuse, bert_is_built},
      {"BERT's data and attention have no decoder-only features", Topic::run, Action::refuse, bert_data_is_built},
      {"token types are as many as segments", Topic::model, Action::refuse, token_types_suffice},
      {"mask-prob and short-seq-prob are shares", Topic::run, Action::refuse, masking_shares, true},
      {"a sample of BERT has room for two segments", Topic::model, Action::refuse, bert_seq_length},
      {"flags about BERT come with pretrain-bert", Topic::run, Action::warn, bert_is_on},
      {"BERT has learned positions, as Megatron's script", Topic::model, Action::warn, rope_of_bert},
  };
}

}  // namespace megalith
