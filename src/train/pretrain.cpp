#include "train/pretrain.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "ckpt/hf_config.h"
#include "train/checkpointing.h"
#include "train/plan_report.h"
#include "train/run_log.h"
#include "train/schedules.h"

namespace megalith {

namespace {

class TrainingRun {
 public:
  TrainingRun(const Options& options, const Backend& backend, PlannedStep step)
      : o_(options),
        t_(o_.train),
        step_(std::move(step)),
        interpreter_(backend.make_interpreter(step_.plan, Coord{})),
        model_(step_, *interpreter_),
        trainer_(step_, *interpreter_, o_.optimizer, make_schedules(o_)) {}

  void start() {
    if (t_.load.empty() || !loadable()) model_.initialise(u64(t_.seed));
    if (!t_.load.empty() && loadable()) load_run(o_, model_, state_);
    datasets_ = build_datasets(o_.data, sample_counts(run_length(o_)));
    log::say("> finished creating GPT datasets ...");
  }

  int train() {
    RunLog log(o_, state_, train_iters(o_));
    const auto began = std::chrono::steady_clock::now();
    std::optional<DataLoader> loader;
    if (state_.iteration < train_iters(o_)) loader.emplace(datasets_.train, loader_config_at(state_.consumed_samples));
    while (state_.iteration < train_iters(o_)) {
      const i64 before = state_.consumed_samples;
      const StepResult r = trainer_.train_step(*loader, t_.global_batch_size / t_.micro_batch_size, state_);
      log.step(state_, r, schedules().lr.at(state_.schedule_samples), state_.consumed_samples - before);
      if (t_.eval_interval > 0 && state_.iteration % t_.eval_interval == 0)
        evaluate(log, datasets_.valid, fmt::format("iteration {}", state_.iteration), true);
      if (!t_.save.empty() && t_.save_interval > 0 && state_.iteration % t_.save_interval == 0) save(log);
      if (should_exit(began)) break;
    }
    if (!t_.save.empty() && saved_ != state_.iteration) save(log);
    if (state_.iteration >= train_iters(o_)) final_evaluations(log);
    log.finish();
    return 0;
  }

 private:
  bool loadable() const {
    namespace fs = std::filesystem;
    const bool there = is_hf_directory(t_.load) || has_checkpoint(t_.load);
    check(there || t_.load == t_.save || !t_.exit_on_missing_checkpoint, "--load {}: no checkpoint there", t_.load);
    check(there || t_.load == t_.save || fs::exists(t_.load), "--load {}: no such directory", t_.load);
    return there;  // nothing yet, where this run will save: it starts from random weights
  }

  Schedules schedules() const { return make_schedules(o_); }

  LoaderConfig loader_config_at(i64 consumed) const {
    LoaderConfig c = loader_config(o_.data);
    c.consumed_samples = consumed;
    c.micro_batch_size = t_.micro_batch_size;
    return c;
  }

  void evaluate(RunLog& log, const std::shared_ptr<const Dataset>& set, const std::string& where, bool record) {
    if (t_.eval_iters <= 0 || !set) return;
    log.pause();
    const i64 done = t_.eval_interval > 0 && record ? (state_.iteration / t_.eval_interval - 1) : 0;
    const i64 samples = t_.eval_iters * t_.global_batch_size;
    const i64 first = set->size() >= (done + 1) * samples ? done * samples : 0;
    DataLoader loader(set, loader_config_at(first));
    const auto e = trainer_.evaluate(loader, samples / t_.micro_batch_size);
    log.validation(where, state_, e.mean(), record);
    log.resume();
  }

  void final_evaluations(RunLog& log) {
    const bool done = t_.eval_interval > 0 && state_.iteration % t_.eval_interval == 0;
    if (!done) evaluate(log, datasets_.valid, fmt::format("iteration {} on validation set", state_.iteration), false);
    evaluate(log, datasets_.test, fmt::format("iteration {} on test set", state_.iteration), false);
  }

  void save(RunLog& log) {
    log.pause();
    if (save_run(o_, model_, state_)) saved_ = state_.iteration;
    log.resume();
  }

  bool should_exit(std::chrono::steady_clock::time_point began) const {
    const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / 60;
    const bool time = t_.exit_duration_in_mins > 0 && minutes >= t_.exit_duration_in_mins;
    const bool interval = t_.exit_interval > 0 && state_.iteration % t_.exit_interval == 0;
    if (time) log::say("exiting program after {:.3f} minutes", minutes);
    if (interval) log::say("exiting program at iteration {}", state_.iteration);
    return time || interval;
  }

  const Options& o_;
  const TrainConfig& t_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  ModelState model_;
  Trainer trainer_;
  Datasets datasets_;
  RunState state_;
  i64 saved_ = -1;  // iteration of the last checkpoint
};

}  // namespace

int pretrain_gpt(Options options, const Backend& backend) {
  log::say("{}", arguments_text(options));
  for (const std::string& note : options.notes) log::say("{}", note);
  const StepSpec spec = step_spec(options);
  PlannedStep step = plan_step(spec, backend);
  if (options.train.print_graph) log::say("{}", print(step.train));
  if (options.train.print_plan) log::say("{}", print(step.plan));
  log::say("{}", plan_report(options, step, backend));
  if (options.train.dry_run) return 0;
  check_memory(options, step, backend);
  TrainingRun run(options, backend, std::move(step));
  run.start();
  return run.train();
}

}  // namespace megalith
