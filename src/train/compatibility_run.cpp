// Rules about batches, data and checkpoints.
#include "train/compatibility.h"

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

std::string save_interval(const Options& o) {
  if (o.train.save.empty() || o.train.save_interval > 0) return {};
  return fmt::format("--save {} needs --save-interval, the iterations between checkpoints", o.train.save);
}

std::string save_place(const Options& o) {
  if (!o.train.save.empty() || o.train.save_interval == 0) return {};
  return "--save-interval has no effect without --save: nothing will be saved";
}

std::string saved_format(const Options& o) {
  if (o.train.ckpt_format != SaveFormat::torch || o.train.save.empty()) return {};
  return "--ckpt-format torch is only read: checkpoints are saved as native (--ckpt-format torch_dist is for Megatron)";
}

std::string retained(const Options& o) {
  const TrainConfig& t = o.train;
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

std::string data_seed(const Options& o) {
  if (o.train.seed < i64(1) << 32) return {};
  return fmt::format("--seed {} is out of range: the order of samples needs one below 2^32", o.train.seed);
}

std::string one_data_source(const Options& o) {
  const DataConfig& d = o.data;
  const bool own = !d.train_data_path.empty() || !d.valid_data_path.empty() || !d.test_data_path.empty();
  if (int(!d.data_path.empty()) + int(own) + int(d.mock_data) > 1)
    return "--data-path, --train/valid/test-data-path and --mock-data exclude each other: give one of them";
  if (own && !d.split.empty())
    return fmt::format("--split {} has no meaning with --train/valid/test-data-path: leave it out", d.split);
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
      {"there is one source of data", Topic::run, Action::refuse, one_data_source},
      {"mid-level-dataset-surplus is not negative", Topic::run, Action::refuse, data_surplus},
      {"exit-duration-in-mins is not negative", Topic::run, Action::refuse, exit_time},
      {"--profile has steps to profile", Topic::run, Action::refuse, profiled_steps},
      {"save comes with save-interval", Topic::run, Action::refuse, save_interval},
      {"save-interval comes with save", Topic::run, Action::warn, save_place},
      {"ckpt-format is one that we write", Topic::run, Action::warn, saved_format},
      {"save-retain-interval is a multiple of save-interval", Topic::run, Action::refuse, retained},
      {"flags about loading come with load", Topic::run, Action::warn, load_place},
  };
}

}  // namespace megalith
