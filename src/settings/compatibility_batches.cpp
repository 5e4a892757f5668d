// Rules about growing batches and about evaluation.
#include "settings/batch_sizes.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string batch_grows(const Options& o) {
  const TrainConfig& t = o.train;
  if (!t.step_batch_size_schedule.empty()) {
    const i64 last = last_of_schedule(t.step_batch_size_schedule);
    if (o.given.has("global-batch-size") && last > 0 && t.global_batch_size != last)
      return fmt::format("--step-batch-size-schedule ends with {}, --global-batch-size is {}: leave the latter out",
                         last, t.global_batch_size);
    for (const char* other : {"rampup-batch-size", "decrease-batch-size-if-needed"})
      if (o.given.has(other))
        return fmt::format("--step-batch-size-schedule and --{} exclude each other: give one", other);
  }
  try {
    (void)BatchSizes(o);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string eval_batch_divides(const Options& o) {
  const TrainConfig& t = o.train;
  const i64 dp = o.parallel.data_parallel_size(),
            each = t.eval_micro_batch_size > 0 ? t.eval_micro_batch_size : t.micro_batch_size;
  if (t.eval_global_batch_size == 0 || each == 0 || t.eval_global_batch_size % (each * dp) == 0) return {};
  return fmt::format("--eval-global-batch-size {} is not divisible by {} {} times data-parallel size {}: change one",
                     t.eval_global_batch_size,
                     t.eval_micro_batch_size > 0 ? "--eval-micro-batch-size" : "--micro-batch-size", each, dp);
}

std::string validation_sets(const Options& o) {
  const DataConfig& d = o.data;
  if (!d.multiple_validation_sets)
    return d.validation_set_names.empty() ? "" : "--validation-set-names needs --multiple-validation-sets: give both";
  if (d.sft || d.mock_data)
    return "--multiple-validation-sets is for datasets of tokens: not with --sft or --mock-data";
  if (!o.train.full_validation) return "--multiple-validation-sets needs --full-validation: add it";
  return {};
}

std::string skipped_training(const Options& o) {
  const TrainConfig& t = o.train;
  if (!t.skip_train) return {};
  if (t.load.empty()) return "--skip-train evaluates the model of --load: give --load DIR";
  if (!t.evaluates()) return "--skip-train with --eval-iters 0 does nothing: give --eval-iters or --full-validation";
  return {};
}

// Schedules in iterations are turned into samples by the last batch size, as Megatron does: those before are smaller.
std::string grown_schedule(const Options& o) {
  const TrainConfig& t = o.train;
  if (t.train_iters == 0 || o.optimizer.lr_decay_style == LrDecayStyle::constant) return {};
  try {
    const BatchSizes sizes(o);
    if (!sizes.change()) return {};
    const i64 read = sizes.end(t, 0, 0).consumed, decay = o.optimizer.lr_decay_iters;
    const i64 asked = (decay > 0 ? decay : t.train_iters) * sizes.nominal();
    if (read >= asked) return {};
    return fmt::format(
        "the learning rate decays over {} samples, iterations times the last batch size as in Megatron, but the run "
        "ends "
        "after {}: give --train-samples and --lr-decay-samples for a decay that ends with the run",
        asked, read);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<Rule> batch_rules() {
  return {
      {"growing batch sizes are given in one way, and are valid", Topic::run, Action::refuse, batch_grows},
      {"eval-global-batch-size is a multiple of the micro-batch size x data-parallel size", Topic::run, Action::refuse,
       eval_batch_divides},
      {"multiple-validation-sets comes with full-validation, and its names with it", Topic::run, Action::refuse,
       validation_sets},
      {"skip-train has something to evaluate", Topic::run, Action::refuse, skipped_training},
      {"with growing batches the decay ends with the run", Topic::run, Action::warn, grown_schedule},
  };
}

}  // namespace megalith
