#include "settings/compatibility.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/mistakes.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

struct AllowedRange {
  const char* flag;
  i64 value;
  i64 least;
  i64 most = i64(1) << 40;
};

std::string out_of_range(std::initializer_list<AllowedRange> ranges) {
  std::string lines;
  for (const auto& [flag, value, least, most] : ranges)
    if (value < least || value > most)
      lines += fmt::format("{}{} {} is out of range: from {} to {} is wanted", lines.empty() ? "" : "\n", flag, value,
                           least, most == i64(1) << 40 ? "2^40" : std::to_string(most));
  return lines;
}

i64 lowest(const std::vector<i64>& values) { return values.empty() ? 0 : std::ranges::min(values); }

// Except those for which there is a more specific message.
std::string missing(const Options& o, const std::set<std::string, std::less<>>& told) {
  std::vector<std::string> flags;
  const auto need = [&](bool there, const char* flag) {
    const auto named = flags_in(flag);
    if (!there && std::none_of(named.begin(), named.end(), [&](const auto& name) { return told.contains(name); }))
      flags.push_back(flag);
  };
  const ModelConfig& m = o.model;
  need(m.num_layers != 0, "--num-layers");
  need(m.hidden_size != 0, "--hidden-size");
  need(m.num_attention_heads != 0, "--num-attention-heads");
  need(m.seq_length != 0, "--seq-length");
  need(o.train.micro_batch_size != 0, "--micro-batch-size");
  need(o.train.train_iters != 0 || o.train.train_samples != 0, "--train-iters (or --train-samples)");
  need(o.optimizer.lr != 0 || o.given.has("lr"), "--lr");
  const DataConfig& d = o.data;
  const bool data = d.ways_to_name_data() > 0;
  need(data || o.train.dry_run, "--data-path (or --mock-data)");
  return flags.empty() ? "" : fmt::format("missing required flags: {}", fmt::join(flags, ", "));
}

std::string anything_missing(const Options& o) { return missing(o, {}); }

// The least value of a required size: 0 means that it is not given.
i64 least(const Options& o, std::string_view field) { return o.given.has(field) ? 1 : 0; }

std::string bad_model_sizes(const Options& o) {
  const ModelConfig& m = o.model;
  return out_of_range({{"--num-layers", m.num_layers, least(o, "num-layers"), 1 << 20},
                       {"--hidden-size", m.hidden_size, least(o, "hidden-size")},
                       {"--ffn-hidden-size", m.ffn_hidden_size, 0},
                       {"--num-attention-heads", m.num_attention_heads, least(o, "num-attention-heads")},
                       {"--num-query-groups", m.num_query_groups, 0},
                       {"--kv-channels", m.kv_channels, 0},
                       {"--seq-length", m.seq_length, least(o, "seq-length")},
                       {"--max-position-embeddings", m.max_position_embeddings, 0},
                       {"--vocab-size", m.vocab_size, 0},
                       {"--padded-vocab-size", m.padded_vocab_size, 0},
                       {"--make-vocab-size-divisible-by", m.make_vocab_size_divisible_by, 1},
                       {"--mtp-num-layers", m.mtp.num_layers, 0, 1 << 10},
                       {"--sliding-window", m.sliding_window, 0},
                       {"--num-experts", m.moe.num_experts, 0, 1 << 16},
                       {"--moe-router-topk", m.moe.router_topk, 1, 1 << 16},
                       {"--moe-ffn-hidden-size", m.moe.ffn_hidden_size, 0},
                       {"--moe-shared-expert-intermediate-size", m.moe.shared_expert_intermediate_size, 0},
                       {"--moe-router-num-groups", m.moe.router_num_groups, 0, 1 << 16},
                       {"--moe-router-group-topk", m.moe.router_group_topk, 0, 1 << 16},
                       {"--moe-router-group-best", m.moe.router_group_best, 0, 1 << 16},
                       {"--moe-latent-size", m.moe.latent_size, 0},
                       {"--rope-original-max-position-embeddings", m.rope_scaling.original_length, 0},
                       {"--q-lora-rank", m.mla.q_lora_rank, 0},
                       {"--kv-lora-rank", m.mla.kv_lora_rank, 1},
                       {"--qk-head-dim", m.mla.qk_head_dim, 1},
                       {"--qk-pos-emb-head-dim", m.mla.qk_pos_emb_head_dim, 1},
                       {"--v-head-dim", m.mla.v_head_dim, 1}});
}

std::string bad_run_sizes(const Options& o) {
  const TrainConfig& t = o.train;
  const OptimizerConfig& p = o.optimizer;
  return out_of_range({{"--micro-batch-size", t.micro_batch_size, least(o, "micro-batch-size")},
                       {"--global-batch-size", t.global_batch_size, 0},
                       {"--train-iters", t.train_iters, 0},
                       {"--train-samples", t.train_samples, 0},
                       {"--exit-interval", t.exit_interval, 0},
                       {"--eval-interval", t.eval_interval, 0},
                       {"--eval-iters", t.eval_iters, 0},
                       {"--start-eval-at-iter", t.start_eval_at_iter, 0},
                       {"--eval-global-batch-size", t.eval_global_batch_size, 0},
                       {"--eval-micro-batch-size", t.eval_micro_batch_size, 0},
                       {"--max-skipped-iterations-in-a-row", t.max_skipped_in_a_row, 0},
                       {"--seed", t.seed, 0},
                       {"--num-workers", o.data.num_workers, 0},
                       {"--save-interval", t.save_interval, kAutoSaveInterval},
                       {"--save-retain-interval", t.save_retain_interval, 0},
                       {"--most-recent-k", t.most_recent_k, 0},
                       {"--ckpt-step", t.ckpt_step, 0},
                       {"--log-interval", t.log_interval, 1},
                       {"--save-tokens-per-expert-interval", t.save_tokens_per_expert_interval, 0},
                       {"--straggler-minmax-count", t.straggler_minmax_count, 1},
                       {"--profile-step-start", t.profile_step_start, 0},
                       {"--profile-step-end", t.profile_step_end, 0},
                       {"--tensorboard-log-interval", t.tensorboard_log_interval, 1},
                       {"--lr-decay-iters", p.lr_decay_iters, 0},
                       {"--lr-decay-samples", p.lr_decay_samples, 0},
                       {"--lr-warmup-iters", p.lr_warmup_iters, 0},
                       {"--lr-warmup-samples", p.lr_warmup_samples, 0},
                       {"--lr-wsd-decay-iters", p.lr_wsd_decay_iters, 0},
                       {"--lr-wsd-decay-samples", p.lr_wsd_decay_samples, 0}});
}

std::string bad_other_sizes(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const TrainConfig& t = o.train;
  const TokenizerConfig& k = o.tokenizer;
  return out_of_range({{"--num-layers-per-virtual-pipeline-stage", p.num_layers_per_virtual_pipeline_stage, 0},
                       {"--num-virtual-stages-per-pipeline-rank", p.num_virtual_stages_per_pipeline_rank, 0},
                       {"--microbatch-group-size-per-virtual-pipeline-stage", p.microbatch_group_size_per_vp_stage, 0},
                       {"--decoder-first-pipeline-num-layers", p.decoder_first_pipeline_num_layers, 0},
                       {"--decoder-last-pipeline-num-layers", p.decoder_last_pipeline_num_layers, 0},
                       {"--ddp-bucket-size", p.ddp_bucket_size, 0},
                       {"--recompute-num-layers", o.recompute.num_layers, 0},
                       {"--check-weight-hash-across-dp-replicas-interval", t.weight_hash_interval, 0},
                       {"--replay-interval", t.replay_interval, 0},
                       {"--non-persistent-save-interval", t.non_persistent_save_interval, 0},
                       {"--iterations-to-skip", lowest(t.iterations_to_skip), 0},
                       {"--timing-log-level", t.timing_log_level, 0, 2},
                       {"--num-layers-at-start-in-bf16", o.quantize.layers_at_start, 0},
                       {"--num-layers-at-end-in-bf16", o.quantize.layers_at_end, 0},
                       {"--relative-attention-num-buckets", o.model.t5.relative_attention_num_buckets, 1},
                       {"--relative-attention-max-distance", o.model.t5.relative_attention_max_distance, 1},
                       {"--vocab-extra-ids", k.vocab_extra_ids, 0},
                       {"--tiktoken-num-special-tokens", k.tiktoken_num_special, 0},
                       {"--null-tokenizer-eod-id", k.null_eod_id, -1},
                       {"--null-tokenizer-pad-id", k.null_pad_id, -1}});
}

std::string bad_parallel_sizes(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 etp = p.expert_tensor_parallel_size == 0 ? 1 : p.expert_tensor_parallel_size;  // 0: not given
  std::string lines;
  for (const auto& [flag, size] : {std::pair("--tensor-model-parallel-size", p.tensor_model_parallel_size),
                                   {"--pipeline-model-parallel-size", p.pipeline_model_parallel_size},
                                   {"--context-parallel-size", p.context_parallel_size},
                                   {"--expert-model-parallel-size", p.expert_model_parallel_size},
                                   {"--expert-tensor-parallel-size", etp},
                                   {"--world-size", p.world_size}})
    if (size < 1 || size > 1 << 20)
      lines += fmt::format("{}{} {} is out of range: give 1 or more", lines.empty() ? "" : "\n", flag, size);
  if (const i64 n = p.encoder_pipeline_model_parallel_size; n < 0 || n > 1 << 20)
    lines += fmt::format("{}--encoder-pipeline-model-parallel-size {} is out of range: give 0 or more",
                         lines.empty() ? "" : "\n", n);
  return lines;
}

std::vector<Rule> first_rules() {
  return {
      {"sizes of the model are in range", Topic::model, Action::refuse, bad_model_sizes, true},
      {"sizes of the run are in range", Topic::run, Action::refuse, bad_run_sizes, true},
      {"other sizes are in range", Topic::run, Action::refuse, bad_other_sizes, true},
      {"parallel sizes are at least 1", Topic::run, Action::refuse, bad_parallel_sizes, true},
      {"all required flags are given", Topic::run, Action::refuse, anything_missing},
  };
}

}  // namespace

const std::vector<Rule>& compatibility_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all = first_rules();
    for (const auto& part :
         {model_rules(), bert_rules(), attention_rules(), encoder_decoder_rules(), retro_rules(), expert_rules(),
          upcycling_rules(), router_rules(), batch_rules(), schedule_rules(), parallel_rules(), run_rules(),
          observe_rules(), precision_rules(), quantize_rules(), recompute_rules(), offload_rules()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

std::vector<std::string> flags_in(std::string_view message) {
  std::vector<std::string> flags;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  for (size_t at = message.find("--"); at != std::string_view::npos; at = message.find("--", at)) {
    const size_t begin = at;
    while (at < message.size() && is_letter(message[at])) ++at;
    flags.emplace_back(message.substr(begin, at - begin));
  }
  return flags;
}

static void add_lines(std::vector<std::string>& out, const std::string& text,
                      const std::set<std::string, std::less<>>& told) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto flags = flags_in(line);
    if (std::none_of(flags.begin(), flags.end(), [&](const auto& flag) { return told.contains(flag); }))
      out.push_back(line);
  }
}

std::vector<std::string> broken_ground(const Options& options) {
  std::vector<std::string> lines;
  for (const Rule& rule : compatibility_rules())
    if (rule.ground) add_lines(lines, rule.broken(options), {});
  return lines;
}

Broken broken_rules(const Options& options, std::set<std::string, std::less<>> told) {
  Broken broken;
  broken.refusals = broken_ground(options);
  if (!broken.refusals.empty()) return broken;
  if (const std::string line = missing(options, told); !line.empty()) {
    broken.refusals.push_back(line);
    for (std::string& flag : flags_in(line)) told.insert(std::move(flag));
  }
  for (const Rule& rule : compatibility_rules())
    if (!rule.ground)
      add_lines(rule.action == Action::warn ? broken.warnings : broken.refusals, rule.broken(options), told);
  return broken;
}

std::vector<std::string> check_compatibility(const Options& options) {
  Broken broken = broken_rules(options);
  if (!broken.refusals.empty()) throw Mistakes(std::move(broken.refusals));
  return std::move(broken.warnings);
}

void check_model(const ModelConfig& model) {
  Options options;
  options.model = model;
  for (const Rule& rule : compatibility_rules()) {
    if (rule.topic != Topic::model || rule.action != Action::refuse) continue;
    const std::string message = rule.broken(options);
    check(message.empty(), "{}", message);
  }
}

std::string compatibility_markdown() {
  const auto list = [](Action action) {
    std::string out;
    for (const Rule& rule : compatibility_rules())
      if (rule.action == action) out += fmt::format("- {}\n", rule.what);
    return out;
  };
  return "## Rules between flags\n\nA run is refused unless:\n\n" + list(Action::refuse) + "\nA run warns unless:\n\n" +
         list(Action::warn);
}

}  // namespace megalith
