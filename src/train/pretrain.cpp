#include "train/pretrain.h"

#include <exception>
#include <functional>
#include <optional>

#include "base/canonical_path.h"
#include "base/log.h"
#include "comm/together.h"
#include "observe/memory_use.h"
#include "observe/observers.h"
#include "observe/peak_flops.h"
#include "observe/recorder.h"
#include "observe/run_head.h"
#include "observe/step_health.h"
#include "observe/straggler.h"
#include "resume/run_begin.h"
#include "resume/saver.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"
#include "settings/schedules.h"
#include "step/pipeline.h"
#include "train/asked.h"
#include "train/data_use.h"
#include "train/one_memory.h"
#include "train/open_run.h"
#include "train/validation.h"

namespace megalith {

namespace {

class TrainingRun {
 public:
  TrainingRun(const Options& options, const Backend& backend, Ranks& ranks, Opened run)
      : o_(options),
        t_(o_.train),
        backend_(backend),
        ranks_(ranks),
        need_(run.need),
        step_(std::move(run.step)),
        coord_(coord_of(step_.plan, ranks)),
        interpreter_(backend.make_interpreter(step_.plan, coord_)),
        model_(step_, *interpreter_, coord_),
        start_(fill_model(options, ranks, std::move(run.start), model_)),
        sizes_(o_),
        schedules_(start_.schedules()),
        trainer_(step_, *interpreter_, coord_, o_.optimizer, schedules_),
        evaluation_(o_, step_, coord_, ranks, trainer_),
        state_(start_.progress().state),
        datasets_(enough(run)),
        last_(train_iters(o_, state_)),
        recorder_(o_, start_.progress(), last_, peak(), model_, ranks),
        observers_(t_, state_.iteration, last_, ranks.rank() == 0),
        validation_(o_, evaluation_, datasets_, observers_),
        health_(t_, model_),
        places_(std::move(run.places)),
        saver_(o_, model_, ranks, places_, need_.device_copies, is_saved_start() ? state_.iteration : -1) {
    const std::string changed = changed_data(start_.progress().data, data_read());
    if (!changed.empty()) log::warn("{}", changed);
    if (t_.log_straggler && !t_.disable_straggler_on_startup && ranks.size() > 1)
      straggler_.emplace(step_, micro_batches(o_), *interpreter_, ranks, int(t_.straggler_minmax_count));
  }

  int train() {
    if (t_.skip_train) log::say("skipping training (--skip-train is on) ...");
    const int code = t_.skip_train ? 0 : train_and_save();
    if (t_.skip_train || state_.iteration >= last_) validate([&] { validation_.run_last(state_); });
    observers_.finish();
    log::say("{}", memory_line(all_memory_use(ranks_, {need_.total(), backend_.peak_bytes()})));
    return code;
  }

 private:
  // The data, for as many samples as are read from where the run did begin: what it was to begin with may be damaged.
  Datasets enough(Opened& run) {
    const SampleCounts needed = sample_counts(run_length(o_, state_));
    return needed == run.asked ? std::move(run.datasets) : open_data(o_, ranks_, needed);
  }

  void say_nothing_is_left() const {
    const bool counts_samples = t_.train_samples > 0;
    log::say("  nothing is left to train: {} {} are done, --train-{} asks for {}",
             counts_samples ? state_.consumed_samples : state_.iteration, counts_samples ? "samples" : "iterations",
             counts_samples ? "samples" : "iters", counts_samples ? t_.train_samples : t_.train_iters);
  }

  // Signals are what they were before as soon as all is saved.
  int train_and_save() {
    Asked asked(o_, ranks_);
    std::optional<DataLoader> loader;
    if (state_.iteration >= last_)
      say_nothing_is_left();
    else
      loader.emplace(datasets_.train,
                     rank_loader_config(o_, step_.plan.mesh, coord_, Split::train, state_.consumed_samples));
    recorder_.resume();
    while (state_.iteration < last_) {
      if (t_.profile && state_.iteration + trainer_.started() == t_.profile_step_start) profile(true);
      start(*loader);
      saver_.poll();
      while (trainer_.started() > 1 || (trainer_.started() > 0 && may_finish())) finish();
      if (!asked.look(state_.iteration + trainer_.started()) && !something_is_due()) continue;
      finish_all();
      if (t_.profile && state_.iteration == t_.profile_step_end) profile(false);
      if (validation_.is_due(state_.iteration)) validate([&] { validation_.run(state_); });
      if (saver_.saves_at(state_.iteration) || asked.to_save()) save();
      if (saver_.copies_at(state_.iteration)) save_copy();
      if (should_exit(asked)) break;
    }
    profile(false);
    save_last();
    return exit_code(asked);
  }

  // Whether the step started last can be finished now, without waiting. A rank knows that of its own device only, so
  // not where ranks speak to each other about each step.
  bool may_finish() {
    const bool speaks = (straggler_ && ranks_.size() > 1) || recorder_.speaks();
    return !speaks && trainer_.ready();
  }

  // What goes wrong in reading data must not cost the steps done since the last checkpoint. One of several ranks cannot
  // save: the others wait for it within the step, until its error ends them.
  void start(DataLoader& loader) {
    try {
      trainer_.start_step(loader, sizes_.at(loader.consumed_samples()) / samples_at_once(), state_);
    } catch (const std::exception&) {
      if (ranks_.size() > 1) throw;
      finish_all();
      if (state_.iteration > 0) save_last();
      throw;
    }
  }

  // Where the step behind this one takes more, or fewer.
  void say_size(i64 before) const {
    const i64 size = sizes_.at(before), next = sizes_.at(state_.consumed_samples);
    if (size != next && state_.iteration < last_) log::say("  global batch size: {} -> {} from here on", size, next);
  }

  void finish_all() {
    while (trainer_.started() > 0) finish();
  }

  void finish() {
    const i64 consumed = state_.consumed_samples;
    const StepResult r = trainer_.finish_step(state_);
    state_.skipped_samples += sizes_.dropped(consumed);
    const Record& record = recorder_.take(state_, r, schedules_.lr.at(state_.schedule_samples));
    health_.look(state_.iteration, r);
    observers_.take(record);
    say_size(consumed);
    if (!straggler_) return;
    straggler_->step();
    if (record.ends_interval) log::say("{}", straggler_->report());
  }

  // Around what is not training.
  void pause() {
    recorder_.pause();
    if (straggler_) straggler_->pause();
  }
  void resume() {
    recorder_.resume();
    if (straggler_) straggler_->resume();
  }

  void validate(const std::function<void()>& f) {
    pause();
    f();
    resume();
  }

  void profile(bool on) {
    if (profiled_ != on) interpreter_->profile(on);
    profiled_ = on;
  }

  std::optional<double> peak() const { return peak_flops(backend_.device_name(), precision_of(o_).products); }

  bool exits_at(i64 iteration) const { return t_.exit_interval > 0 && iteration % t_.exit_interval == 0; }

  // Behind the step started last, something needs all steps finished: the end, or what looks at the model.
  bool something_is_due() const {
    const i64 iteration = state_.iteration + trainer_.started();
    return iteration == last_ || validation_.is_due(iteration) || saver_.saves_at(iteration) ||
           saver_.copies_at(iteration) ||
           (t_.profile && (iteration == t_.profile_step_start || iteration == t_.profile_step_end)) ||
           exits_at(iteration) || recorder_.reads_model();
  }

  // Of all data-parallel ranks, in one micro-batch.
  i64 samples_at_once() const { return t_.micro_batch_size * step_.plan.mesh.n(groups::data); }

  std::vector<DatasetUse> data_read() const {
    return datasets_.train ? data_use(o_.data, *datasets_.train, state_.consumed_samples) : std::vector<DatasetUse>();
  }

  // It begins with a checkpoint under --save.
  bool is_saved_start() const {
    return start_.resumes() && !start_.is_copy() && canonical_path(t_.load) == canonical_path(t_.save);
  }

  // That no other job has taken over where this one saves.
  void check_places() {
    together(ranks_, [&] { places_.check_not_taken_over(); });
  }

  RunProgress progress(const std::vector<DatasetUse>& data) const {
    return {state_, recorder_.interval(), data, start_.progress().hf_config};
  }

  bool is_saved() const { return saver_.has_saved(state_.iteration); }

  void save() {
    if (t_.save.empty()) return;
    pause();
    check_places();
    const std::vector<DatasetUse> use = data_read();
    saver_.save(progress(use), schedules_);
    if (!use.empty()) log::say("{}", data_use_line(use, state_.consumed_samples));
    resume();
  }

  void save_copy() {
    pause();
    check_places();
    saver_.save_copy(progress(data_read()), schedules_);
    resume();
  }

  // Until it is on disk. What failed in the background is tried once more.
  void save_last() {
    saver_.finish();
    if (is_saved()) return;
    save();
    saver_.finish();
  }

  bool should_exit(const Asked& asked) const {
    if (!asked.to_leave() && !exits_at(state_.iteration)) return false;
    log::say("exiting program {}",
             asked.to_leave() ? asked.reason() : fmt::format("at iteration {}", state_.iteration));
    return true;
  }

  // 0 says that nothing is lost.
  int exit_code(const Asked& asked) const {
    const bool is_done = state_.iteration >= last_, is_lost = !t_.save.empty() && !is_saved();
    if (asked.signal() != 0 && !is_done) return asked.exit_code(is_saved());
    if (is_lost) log::warn("the state of iteration {} could not be saved: exit code 1", state_.iteration);
    return is_lost ? 1 : 0;
  }

  const Options& o_;
  const TrainConfig& t_;
  const Backend& backend_;
  Ranks& ranks_;
  MemoryNeed need_;
  PlannedStep step_;
  Coord coord_;
  std::unique_ptr<Interpreter> interpreter_;
  ModelState model_;
  RunStart start_;
  BatchSizes sizes_;
  Schedules schedules_;
  Trainer trainer_;
  Evaluation evaluation_;
  RunState state_;
  Datasets datasets_;
  i64 last_;  // iteration
  Recorder recorder_;
  Observers observers_;
  Validation validation_;
  StepHealth health_;
  std::optional<Straggler> straggler_;  // of several ranks, where wanted
  SavePlaces places_;
  Saver saver_;
  bool profiled_ = false;  // now
};

}  // namespace

int pretrain_gpt(Options options, const Backend& backend, Ranks& ranks) {
  if (ranks.size() > 1)
    check_agreement(ranks, {{"the program", program_identity()}, {"the flags", arguments_text(options)}});
  say_notes(options);
  warn_of_one_memory(options, backend);
  Opened run = open_run(options, backend, ranks);
  if (options.train.dry_run) return 0;
  if (ranks.size() > 1) check_agreement(ranks, {{"the plans", print(run.step.plan)}}, stage_of(options, ranks));
  if (options.train.log_throughput) log::say("{}", throughput_line(options, backend));
  if (options.train.profile && backend.name() == "cpu") log::warn("--profile has no effect on the CPU");
  return TrainingRun(options, backend, ranks, std::move(run)).train();
}

}  // namespace megalith
