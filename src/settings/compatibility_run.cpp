// Rules about batches, data and checkpoints.
#include <cmath>

#include "base/canonical_path.h"
#include "ckpt/torch/megatron_common.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string whole_batches(const Options& o) {
  if (o.train.train_samples == 0 || o.train.train_samples >= o.train.global_batch_size) return {};
  return fmt::format("--train-samples {} is less than one --global-batch-size {}: nothing would be trained",
                     o.train.train_samples, o.train.global_batch_size);
}

std::string exit_time(const Options& o) {
  if (o.train.exit_duration_in_mins >= 0) return {};
  return fmt::format("--exit-duration-in-mins {} must not be negative (0: never)", o.train.exit_duration_in_mins);
}

std::string profiled_steps(const Options& o) {
  const TrainConfig& t = o.train;
  if (!t.profile || t.profile_step_start < t.profile_step_end) return {};
  return fmt::format("--profile-step-end {} must be above --profile-step-start {}", t.profile_step_end,
                     t.profile_step_start);
}

// As from a script whose variable is not set.
std::string named_places(const Options& o) {
  if (o.given.has("save") && o.train.save.empty()) return "--save '': give a directory, or leave it out";
  if (o.given.has("load") && o.train.load.empty()) return "--load '': give a directory, or leave it out";
  return {};
}

std::string save_interval(const Options& o) {
  if (o.train.save.empty() || o.train.save_interval != 0) return {};
  return fmt::format("--save {} needs --save-interval, the iterations between checkpoints, or auto", o.train.save);
}

std::string failures(const Options& o) {
  const double hours = o.train.gpu_mtbf_hours;
  if (hours > 0 && std::isfinite(hours)) return {};
  return fmt::format("--gpu-mtbf-hours {}: want more than 0", hours);
}

std::string failures_count(const Options& o) {
  if (!o.given.has("gpu-mtbf-hours") || o.train.save_interval == kAutoSaveInterval || o.train.dry_run) return {};
  return "--gpu-mtbf-hours has no effect without --save-interval auto";
}

std::string save_place(const Options& o) {
  if (!o.train.save.empty()) return {};
  for (const char* field : {"save-interval", "async-save", "most-recent-k", "ckpt-fully-parallel-save",
                            "dist-ckpt-workers", "no-save-optim", "no-save-rng"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --save: nothing will be saved", field);
  return {};
}

std::string saved_format(const Options& o) {
  if (o.train.ckpt_format != SaveFormat::torch || o.train.save.empty()) return {};
  return "--ckpt-format torch is only read: checkpoints are saved as native (--ckpt-format torch_dist is for Megatron)";
}

std::string known_to_megatron(const Options& o) {
  if (o.train.ckpt_format != SaveFormat::torch_dist || o.train.save.empty()) return {};
  const std::string unknown = unknown_to_megatron(o.model);
  return unknown.empty() ? ""
                         : fmt::format(
                               "--ckpt-format torch_dist: Megatron-LM does not know {}: it would make "
                               "another model of these checkpoints",
                               unknown);
}

bool same_place(const std::string& a, const std::string& b) {
  return !a.empty() && canonical_path(a) == canonical_path(b);
}

std::string non_persistent(const Options& o) {
  const TrainConfig& t = o.train;
  const bool any = t.non_persistent_save_interval > 0;
  for (const auto& [flag, dir] : {std::pair("--non-persistent-global-ckpt-dir", t.non_persistent_global_ckpt_dir),
                                  {"--non-persistent-local-ckpt-dir", t.non_persistent_local_ckpt_dir}})
    for (const auto& [other, place] : {std::pair("--save", t.save), {"--load", t.load}})
      if (any && same_place(dir, place))
        return fmt::format(
            "{} {} is {}: of the copies only the latest stays, so checkpoints would be deleted there: choose another "
            "directory",
            flag, dir, other);
  if (!t.non_persistent_global_ckpt_dir.empty() && t.non_persistent_ckpt_type != NonPersistentType::global)
    return "--non-persistent-global-ckpt-dir has no effect without --non-persistent-ckpt-type global";
  if (!t.non_persistent_local_ckpt_dir.empty() && t.non_persistent_ckpt_type != NonPersistentType::local)
    return "--non-persistent-local-ckpt-dir has no effect without --non-persistent-ckpt-type local";
  if (any && t.save.empty()) return "--non-persistent-save-interval needs --save, for persistent checkpoints";
  if (any == (t.non_persistent_ckpt_type != NonPersistentType::none))
    return any && t.non_persistent_ckpt_type == NonPersistentType::local && t.non_persistent_local_ckpt_dir.empty()
               ? "--non-persistent-ckpt-type local needs --non-persistent-local-ckpt-dir, a directory on each host"
               : "";
  return "--non-persistent-save-interval and --non-persistent-ckpt-type come together: give both, or neither";
}

std::string workers(const Options& o) {
  const i64 n = o.train.dist_ckpt_workers;
  return n >= 1 && n <= 64 ? "" : fmt::format("--dist-ckpt-workers {}: want 1 to 64", n);
}

std::string retained(const Options& o) {
  const TrainConfig& t = o.train;
  if (t.save_retain_interval > 0 && t.save_interval == kAutoSaveInterval)
    return "--save-retain-interval needs a --save-interval in iterations: with auto give --most-recent-k";
  if (t.save_retain_interval == 0 || (t.save_interval > 0 && t.save_retain_interval % t.save_interval == 0)) return {};
  return fmt::format("--save-retain-interval {} is not a multiple of --save-interval {}", t.save_retain_interval,
                     t.save_interval);
}

std::string load_place(const Options& o) {
  const TrainConfig& t = o.train;
  if (!t.load.empty()) return {};
  struct Flag {
    const char* flag;
    bool on;
  };
  for (const Flag& f : {Flag{"--finetune", t.finetune},
                        {"--no-load-optim", t.no_load_optim},
                        {"--no-load-rng", t.no_load_rng},
                        {"--ckpt-step", t.ckpt_step != 0},
                        {"--exit-on-missing-checkpoint", t.exit_on_missing_checkpoint}})
    if (f.on) return fmt::format("{} has no effect without --load: training starts from random weights", f.flag);
  return {};
}

std::string straggler(const Options& o) {
  const TrainConfig& t = o.train;
  if (t.log_straggler && t.disable_straggler_on_startup)
    return "--disable-straggler-on-startup: --log-straggler reports nothing, because it cannot be switched on later";
  if (t.log_straggler && o.parallel.world_size == 1)
    return "--log-straggler has no effect on a single rank: there is none to compare with";
  if (t.log_straggler) return {};
  for (const char* field : {"straggler-minmax-count", "disable-straggler-on-startup"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --log-straggler", field);
  return {};
}

std::string doubts(const Options& o) {
  const TrainConfig& t = o.train;
  if (t.hash_interval() > 0 && o.parallel.data_parallel_size() * o.parallel.context_parallel_size == 1)
    return fmt::format(
        "--{} has no effect on one data-parallel rank: there are no copies of weights to compare",
        t.weight_hash_interval > 0 ? "check-weight-hash-across-dp-replicas-interval" : "consistency-check");
  if (o.given.has("rerun-mode") && t.rerun_mode != RerunMode::disabled && t.replay_interval == 0)
    return "--rerun-mode has no effect without --replay-interval: nothing is computed again";
  return {};
}

std::string readers(const Options& o) {
  constexpr i64 kMost = 256;
  if (o.data.num_workers <= kMost) return {};
  return fmt::format("--num-workers {}: want 0 to {} threads; a few read as fast as any disk", o.data.num_workers,
                     kMost);
}

std::string data_seed(const Options& o) {
  if (o.train.seed < i64(1) << 32) return {};
  return fmt::format("--seed {} is out of range: the order of samples needs one below 2^32", o.train.seed);
}

std::string one_data_source(const Options& o) {
  const DataConfig& d = o.data;
  if (d.ways_to_name_data() > 1)
    return "--data-path, --train/valid/test-data-path, --data-args-path, --per-split-data-args-path and --mock-data "
           "exclude each other: give one of them";
  if ((d.has_own_paths() || !d.per_split_data_args_path.empty()) && !d.split.empty())
    return fmt::format("--split {} has no meaning where each split has its own data: leave it out", d.split);
  if ((d.dataloader_type == SamplerType::external) != !d.data_order_file.empty())
    return "--dataloader-type external and --data-order-file FILE.npy belong together: give both or neither";
  return {};
}

std::string chat_source(const Options& o) {
  if (!o.data.sft || !o.data.mock_data) return {};
  return "--sft needs chats and --mock-data makes up plain documents: give --data-path FILE.jsonl";
}

std::string chat_tokenizer(const Options& o) {
  if (!o.data.sft || !o.tokenizer.type.empty()) return {};
  return "--sft needs a tokenizer: give --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR";
}

std::string chat_flags(const Options& o) {
  if (o.data.sft) return {};
  for (const char* name :
       {"sft-tokenizer-prompt-format", "sft-packing", "sft-too-long", "sft-skip-bad-lines", "sft-date"})
    if (o.given.has(name)) return fmt::format("--{} has no effect without --sft", name);
  return {};
}

std::string fim_source(const Options& o) {
  if (!o.data.fim.on || !(o.data.mock_data || o.data.sft)) return {};
  return fmt::format("--fim-data needs documents of text, which {} does not have: leave one of them out",
                     o.data.sft ? "--sft" : "--mock-data");
}

std::string fim_tokenizer(const Options& o) {
  if (!o.data.fim.on || !o.tokenizer.type.empty()) return {};
  return "--fim-data needs the data's tokenizer: give --tokenizer-type and its files";
}

std::string fim_rates(const Options& o) {
  const FimConfig& f = o.data.fim;
  for (const auto& [flag, rate] :
       {std::pair("fim-rate", f.rate), {"fim-spm-rate", f.spm_rate}, {"fim-fragment-rate", f.fragment_rate}})
    if (!(rate >= 0 && rate <= 1)) return fmt::format("--{} {} is out of range: from 0 to 1 is wanted", flag, rate);
  return {};
}

std::string fim_fragments(const Options& o) {
  if (o.data.fim.split_sample.empty() != o.given.has("fim-fragment-rate")) return {};
  return "--fim-split-sample and --fim-fragment-rate belong together: give both or neither";
}

std::string fim_flags(const Options& o) {
  if (o.data.fim.on) return {};
  for (const char* name :
       {"fim-rate", "fim-spm-rate", "fim-split-sample", "fim-fragment-rate", "fim-no-prefix", "fim-prefix-token",
        "fim-middle-token", "fim-suffix-token", "fim-pad-token", "fim-eod-token"})
    if (o.given.has(name)) return fmt::format("--{} has no effect without --fim-data", name);
  return {};
}

std::string data_surplus(const Options& o) {
  const double surplus = o.data.mid_level_dataset_surplus;
  return surplus >= 0 ? "" : fmt::format("--mid-level-dataset-surplus {} must not be negative", surplus);
}

}  // namespace

std::vector<Rule> run_rules() {
  return {
      {"train-samples is at least one global batch", Topic::run, Action::refuse, whole_batches},
      {"the seed is below 2^32", Topic::run, Action::refuse, data_seed},
      {"num-workers is a small number", Topic::run, Action::refuse, readers},
      {"there is one source of data", Topic::run, Action::refuse, one_data_source},
      {"sft has files of chats", Topic::run, Action::refuse, chat_source},
      {"sft has a tokenizer", Topic::run, Action::refuse, chat_tokenizer},
      {"flags about chats come with sft", Topic::run, Action::warn, chat_flags},
      {"fim-data has documents of text", Topic::run, Action::refuse, fim_source},
      {"fim-data has a tokenizer", Topic::run, Action::refuse, fim_tokenizer},
      {"rates of fim-data are from 0 to 1", Topic::run, Action::refuse, fim_rates},
      {"fim-split-sample comes with fim-fragment-rate", Topic::run, Action::refuse, fim_fragments},
      {"flags about fim come with fim-data", Topic::run, Action::warn, fim_flags},
      {"mid-level-dataset-surplus is not negative", Topic::run, Action::refuse, data_surplus},
      {"exit-duration-in-mins is not negative", Topic::run, Action::refuse, exit_time},
      {"--profile has steps to profile", Topic::run, Action::refuse, profiled_steps},
      {"save and load have names", Topic::run, Action::refuse, named_places},
      {"save comes with save-interval", Topic::run, Action::refuse, save_interval},
      {"gpu-mtbf-hours is positive", Topic::run, Action::refuse, failures},
      {"gpu-mtbf-hours comes with save-interval auto", Topic::run, Action::warn, failures_count},
      {"flags about saving come with save", Topic::run, Action::warn, save_place},
      {"ckpt-format is one that we write", Topic::run, Action::warn, saved_format},
      {"a model that is saved as torch_dist exists in Megatron-LM", Topic::run, Action::warn, known_to_megatron},
      {"flags that compare replicas come with two replicas", Topic::run, Action::warn, doubts},
      {"flags about stragglers come with log-straggler, which is for several ranks", Topic::run, Action::warn,
       straggler},
      {"save-retain-interval is a multiple of save-interval", Topic::run, Action::refuse, retained},
      {"non-persistent checkpoints have an interval and a place", Topic::run, Action::refuse, non_persistent},
      {"dist-ckpt-workers is a small number", Topic::run, Action::refuse, workers},
      {"flags about loading come with load", Topic::run, Action::warn, load_place},
  };
}

}  // namespace megalith
