// Rules about how ranks share the work. Megatron's divisibility rules, each with its values and a way out.
#include <limits>
#include <numeric>

#include "settings/batch_sizes.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string world_divides(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 each = p.model_parallel_size();
  if (p.world_size % each == 0) return {};
  return fmt::format(
      "{} ranks are not divisible by tensor {} x pipeline {} x context {} = {}: start a multiple of {} ranks, or "
      "change "
      "a size",
      p.world_size, p.tensor_model_parallel_size, p.stages(), p.context_parallel_size, each, each);
}

std::string ranks_divide_heads(const Options& o) {
  const i64 tp = o.parallel.tensor_model_parallel_size, heads = o.model.num_attention_heads;
  if (heads % tp == 0) return {};
  return fmt::format(
      "--num-attention-heads {} is not a multiple of --tensor-model-parallel-size {}: use {} or another divisor of the "
      "heads",
      heads, tp, std::gcd(heads, tp));
}

std::string ranks_divide_groups(const Options& o) {
  const i64 tp = o.parallel.tensor_model_parallel_size, groups = o.model.groups();
  if (groups % tp == 0 || tp % groups == 0 || groups == o.model.num_attention_heads)
    return {};  // another rule reports heads
  return fmt::format(
      "--num-query-groups {} is neither a multiple nor a divisor of --tensor-model-parallel-size {}: use {} for the "
      "latter",
      groups, tp, std::gcd(groups, tp));
}

std::string ffn_divides(const Options& o) {
  const i64 tp = o.parallel.tensor_model_parallel_size, f = o.model.ffn_hidden_size;
  if (f % tp == 0) return {};
  return fmt::format("--ffn-hidden-size {} is not a multiple of --tensor-model-parallel-size {}: use {} for the latter",
                     f, tp, std::gcd(f, tp));
}

std::string sequence_divides(const Options& o) {
  const i64 cp = o.parallel.context_parallel_size, s = o.model.seq_length;
  if (cp == 1 || s % (2 * cp) == 0) return {};
  return fmt::format(
      "--seq-length {} is not a multiple of 2 x --context-parallel-size {}: each rank takes two chunks; use a "
      "--seq-length of {}",
      s, cp, (s / (2 * cp) + 1) * 2 * cp);
}

std::string sequence_parallel_divides(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 tp = p.tensor_model_parallel_size, cp = p.context_parallel_size, s = o.model.seq_length;
  if (!p.sequence_parallel || s % (tp * cp) == 0) return {};
  return fmt::format(
      "--sequence-parallel: --seq-length {} is not a multiple of tensor {} x context {} = {} ranks: change one", s, tp,
      cp, tp * cp);
}

std::string all_to_all_divides(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 tp_kv = std::gcd(p.tensor_model_parallel_size, o.model.groups()), groups = o.model.groups() / tp_kv;
  if (p.cp_comm_type != CpCommType::a2a || p.context_parallel_size == 1 || groups % p.context_parallel_size == 0)
    return {};
  return fmt::format(
      "--cp-comm-type a2a splits the {} KV groups of a tensor-parallel rank over --context-parallel-size {}, which "
      "does "
      "not divide: use all_gather",
      groups, p.context_parallel_size);
}

// Over all steps, or the last ones, as a resumed run may be past the others. None if the flags define no steps;
// batch_grows reports that.
std::vector<i64> batch_sizes(const Options& o) {
  try {
    return BatchSizes(o).from(o.train.load.empty() ? 0 : std::numeric_limits<i64>::max());
  } catch (const Error&) {
    return {};
  }
}

std::string batch_divides(const Options& o) {
  const i64 dp = o.parallel.data_parallel_size(), step = o.train.micro_batch_size * dp;
  if (o.parallel.world_size % o.parallel.model_parallel_size() != 0) return {};  // which has its own message
  if (step == 0) return {};
  for (const i64 size : batch_sizes(o)) {
    if (size > 0 && size % step == 0) continue;
    const std::string what = batch_sizes(o).size() > 1
                                 ? fmt::format("a global batch of {} (of the batch sizes to come)", size)
                                 : fmt::format("--global-batch-size {}", o.train.global_batch_size);
    if (size == 0)
      return fmt::format(
          "--decrease-batch-size-if-needed makes a global batch 0: one micro-batch on each of {} ranks "
          "is {} sequences; lower --micro-batch-size",
          dp, step);
    return fmt::format("{} is not divisible by --micro-batch-size {} times data-parallel size {}: change one", what,
                       o.train.micro_batch_size, dp);
  }
  return {};
}

// A model that other rules refuse can't be shared out by cost: it can't be built.
bool can_be_built(const ModelConfig& m) {
  for (const i64 size : {m.hidden_size, m.ffn_hidden_size, m.num_attention_heads, m.num_query_groups, m.kv_channels,
                         m.seq_length, m.max_position_embeddings})
    if (size <= 0) return false;
  try {
    check_model(m);
    return m.vocab_size >= 0 && m.padded_vocab_size >= m.vocab_size;
  } catch (const Error&) {
    return false;
  }
}

std::string pipeline_splits(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (o.model.num_layers == 0 || o.train.micro_batch_size == 0) return {};
  if (p.stages() == 1 && p.pipeline_layout.empty()) return {};
  if (p.encoder_pipeline_model_parallel_size > 0 && !o.model.is_t5()) return {};  // refused by a rule of its own
  if (p.pipeline_layout == "auto" && !can_be_built(o.model)) return {};
  const i64 at_once = std::max<i64>(1, o.train.micro_batch_size * p.data_parallel_size());
  try {
    for (const i64 size : batch_sizes(o)) pipeline_of(p, o.model, 0, int(size / at_once));
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string one_interleaving(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!p.num_layers_per_virtual_pipeline_stage || !p.num_virtual_stages_per_pipeline_rank) return {};
  return fmt::format(
      "--num-layers-per-virtual-pipeline-stage {} and --num-virtual-stages-per-pipeline-rank {} say the same: give one",
      p.num_layers_per_virtual_pipeline_stage, p.num_virtual_stages_per_pipeline_rank);
}

std::string one_layout(const Options& o) {
  if (o.parallel.pipeline_layout.empty()) return {};
  std::vector<std::string> fields = {"num-layers-per-virtual-pipeline-stage", "decoder-first-pipeline-num-layers",
                                     "decoder-last-pipeline-num-layers", "account-for-embedding-in-pipeline-split",
                                     "account-for-loss-in-pipeline-split"};
  if (o.parallel.pipeline_layout != "auto") fields.push_back("num-virtual-stages-per-pipeline-rank");
  for (const std::string& field : fields)
    if (o.given.has(field))
      return fmt::format("--pipeline-model-parallel-layout says all about the stages: leave out --{}", field);
  return {};
}

std::string group_without_pieces(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const bool pieces =
      p.num_virtual_stages_per_pipeline_rank || p.num_layers_per_virtual_pipeline_stage || !p.pipeline_layout.empty();
  if (p.microbatch_group_size_per_vp_stage == 0 || pieces) return {};
  return fmt::format(
      "--microbatch-group-size-per-virtual-pipeline-stage {} has no effect where a rank has one piece of the model: "
      "leave it out",
      p.microbatch_group_size_per_vp_stage);
}

std::string world_is_real(const Options& o) {
  if (!o.given.has("world-size") || o.train.dry_run) return {};
  return "--world-size is for --dry-run: in a run the launcher says how many ranks there are";
}

std::string device_is_real(const Options& o) {
  const std::string& device = o.train.device.device;
  if (o.train.device.kind() != DeviceKind::paper || o.train.dry_run) return {};
  return fmt::format("--device {}: want auto, cpu or cuda; only --dry-run plans for a device that is not here", device);
}

std::string sequence_parallel(const Options& o) {
  if (!o.parallel.sequence_parallel || o.parallel.tensor_model_parallel_size > 1) return {};
  return "--sequence-parallel has no effect with --tensor-model-parallel-size 1";
}

std::string narrow_gradients(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!p.grad_reduce_in_bf16 || p.world_size > p.stages()) return {};
  return "--grad-reduce-in-bf16 has no effect where no ranks share a gradient: leave it out";
}

std::string one_precision_of_sums(const Options& o) {
  const std::string flags = o.given.contradiction("grad-reduce-in-bf16");
  return flags.empty() ? "" : fmt::format("{} contradict each other: give one", flags);
}

std::string few_micro_batches(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 stages = p.stages();
  const i64 each = o.train.micro_batch_size * p.data_parallel_size();
  const i64 n = each == 0 ? 0 : o.train.global_batch_size / each;
  if (n == 0 || n >= stages) return {};
  return fmt::format(
      "a step has {} micro-batch{} for {} pipeline stages, so stages wait for most of it: raise --global-batch-size {} "
      "to "
      "{} or more",
      n, n == 1 ? "" : "es", stages, o.train.global_batch_size, 4 * stages * each);
}

// Flags about communication between ranks, in a group of one.
std::string alone(const Options& o) {
  const ParallelConfig& p = o.parallel;
  const i64 tp = p.tensor_model_parallel_size, pp = p.stages();
  const i64 shared = p.data_parallel_size() * p.context_parallel_size;
  struct Flag {
    const char* name;
    i64 ranks;
    const char* needs;
  };
  std::string lines;
  for (const Flag& f : {Flag{"tp-comm-overlap", tp, "--tensor-model-parallel-size"},
                        Flag{"num-virtual-stages-per-pipeline-rank", pp, "--pipeline-model-parallel-size"},
                        Flag{"num-layers-per-virtual-pipeline-stage", pp, "--pipeline-model-parallel-size"},
                        Flag{"decoder-first-pipeline-num-layers", pp, "--pipeline-model-parallel-size"},
                        Flag{"decoder-last-pipeline-num-layers", pp, "--pipeline-model-parallel-size"},
                        Flag{"account-for-embedding-in-pipeline-split", pp, "--pipeline-model-parallel-size"},
                        Flag{"account-for-loss-in-pipeline-split", pp, "--pipeline-model-parallel-size"},
                        Flag{"pipeline-schedule", pp, "--pipeline-model-parallel-size"},
                        Flag{"cp-comm-type", p.context_parallel_size, "--context-parallel-size"}})
    if (o.given.has(f.name) && f.ranks == 1)
      lines += fmt::format("{}--{} has no effect with {} 1", lines.empty() ? "" : "\n", f.name, f.needs);
  std::string idle;
  for (const char* name : {"use-distributed-optimizer", "overlap-grad-reduce", "overlap-param-gather"})
    if (o.given.has(name) && shared == 1) idle += fmt::format("{}--{}", idle.empty() ? "" : ", ", name);
  if (!idle.empty())
    lines += fmt::format("{}{}: no effect where no ranks share a weight's gradient", lines.empty() ? "" : "\n", idle);
  return lines;
}

std::string gather_of_whole_weights(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!p.overlap_param_gather || p.use_distributed_optimizer) return {};
  return "--overlap-param-gather has no effect without --use-distributed-optimizer: each rank updates all weights "
         "itself";
}

}  // namespace

std::vector<Rule> parallel_rules() {
  return {
      {"world-size comes with dry-run", Topic::run, Action::refuse, world_is_real},
      {"a device that is not present comes with dry-run", Topic::run, Action::refuse, device_is_real},
      {"the number of ranks is a multiple of tensor x pipeline x context", Topic::run, Action::refuse, world_divides},
      {"num-attention-heads is a multiple of the tensor-parallel size", Topic::run, Action::refuse, ranks_divide_heads},
      {"num-query-groups is a multiple or divisor of the tensor-parallel size", Topic::run, Action::refuse,
       ranks_divide_groups},
      {"ffn-hidden-size is a multiple of the tensor-parallel size", Topic::run, Action::refuse, ffn_divides},
      {"seq-length is a multiple of 2 x context-parallel size", Topic::run, Action::refuse, sequence_divides},
      {"with sequence-parallel, seq-length is a multiple of tensor x context", Topic::run, Action::refuse,
       sequence_parallel_divides},
      {"with cp-comm-type a2a, a rank's KV groups are a multiple of the context-parallel size", Topic::run,
       Action::refuse, all_to_all_divides},
      {"sequence-parallel comes with tensor parallelism", Topic::run, Action::warn, sequence_parallel},
      {"global-batch-size is a multiple of micro-batch-size x data-parallel size", Topic::run, Action::refuse,
       batch_divides},
      {"interleaving is given in one way", Topic::run, Action::refuse, one_interleaving},
      {"stages are given by a layout text or by numbers", Topic::run, Action::refuse, one_layout},
      {"layers and micro-batches fit the pipeline", Topic::run, Action::refuse, pipeline_splits},
      {"microbatch-group-size-per-virtual-pipeline-stage comes with virtual stages", Topic::run, Action::warn,
       group_without_pieces},
      {"a step has as many micro-batches as pipeline stages", Topic::run, Action::warn, few_micro_batches},
      {"flags about ranks that share work come with several ranks", Topic::run, Action::warn, alone},
      {"overlap-param-gather comes with use-distributed-optimizer", Topic::run, Action::warn, gather_of_whole_weights},
      {"sums of gradients have one precision", Topic::run, Action::refuse, one_precision_of_sums},
      {"grad-reduce-in-bf16 comes with ranks that share gradients", Topic::run, Action::warn, narrow_gradients},
  };
}

}  // namespace megalith
