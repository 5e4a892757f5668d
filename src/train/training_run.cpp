// The training loop.
#include "train/training_run.h"

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/clock.h"
#include "base/log.h"
#include "observe/memory_use.h"
#include "observe/peak_flops.h"
#include "plan/deferred_memory.h"
#include "settings/precision.h"
#include "train/start_age.h"

namespace megalith {

TrainingRun::TrainingRun(const Options& options, const Backend& backend, Ranks& ranks, Opened run, Endpoint* endpoint)
    : o_(options),
      t_(o_.train),
      backend_(backend),
      endpoint_(endpoint),
      ranks_(ranks),
      ledger_(ranks.rank() == 0 && !t_.skip_train ? t_.save : "", o_.stack, start_clock(run.began)),
      began_(run.began),
      need_(run.need),
      planned_(std::move(run.step)),
      step_(*planned_),
      coord_(coord_of(step_.plan, ranks)),
      interpreter_(ready_interpreter(std::move(run.interpreter))),
      faults_(t_.inject, ranks.rank(), {step_.plan, coord_, *interpreter_, ranks}),
      in_step_(interpreter_->watch(nullptr)),
      model_(step_, *interpreter_, coord_),
      start_(loaded(std::move(run.start), run.is_filled)),
      sizes_(o_),
      schedules_(start_.schedules()),
      trainer_(step_, *interpreter_, coord_, o_.optimizer, schedules_),
      evaluation_(o_, step_, coord_, ranks, trainer_),
      state_(start_.progress().state),
      datasets_(enough(run)),
      last_(train_iters(o_, state_)),
      recorder_(o_, start_.progress(), last_, peak(), ranks),
      observers_(o_, state_.iteration, last_, ranks.rank() == 0, endpoint, endpoint ? scales() : std::nullopt),
      validation_(o_, evaluation_, datasets_, observers_),
      health_(t_, model_),
      places_(std::move(run.places)),
      incidents_(o_, {step_, coord_, *interpreter_, watches_, trainer_, ranks}, datasets_.train, in_step_,
                 still_ours(places_.save.get())),
      replay_(o_, {step_, coord_, *interpreter_, watches_, trainer_, ranks}, datasets_.train),
      saver_(o_, model_, ranks, places_, need_.device_copies, is_saved_start() ? state_.iteration : -1),
      snapshots_(o_, model_, ranks, start_.snapshot()),
      save_interval_(t_, ranks, state_.iteration) {
  if (o_.given.has("timing-log-level")) timing_.emplace(t_, step_.plan, ranks, *interpreter_, in_step_);
  if (timing_ && t_.timing_log_level > 0 && !timing_->has_phases())
    log::warn("--timing-log-level {}: phases of an iteration are not timed on {} yet", t_.timing_log_level,
              backend.name());
  watch_runs();
  if (t_.hash_interval() > 0) weight_check_.emplace(step_, coord_, *interpreter_, ranks);
  for (const std::string& changed :
       {start_.changed_order(datasets_.train.get()), changed_data(start_.progress().data, data_read())})
    if (!changed.empty()) log::warn("{}", changed);
  if (t_.log_rank_losses && in_step_) rank_losses_.emplace(step_.plan.mesh, coord_, ranks);
  if (t_.log_rank_losses && !in_step_) log::warn("--log-rank-losses has no effect on {} yet", backend.name());
  if (t_.log_straggler && !t_.disable_straggler_on_startup && ranks.size() > 1)
    straggler_.emplace(step_, micro_batches(o_), *interpreter_, ranks, int(t_.straggler_minmax_count));
  phases_ = phase_memory(step_.plan);
  if (auto told = scales()) recorder_.tell_scales(std::move(*told));
  recorder_.tell_memory(need_.total(), phases_, [&backend] { return backend.peak_bytes(); });
  tell_ranks();
  if (endpoint_ || keeps_ranks()) tell_memory();
  if (!endpoint_) return;
  gpu_ = tell_gpu(open_gpu_signals(backend.device_place()), *endpoint_);
  interpreter_->tell_reductions([endpoint](double s) { endpoint->observe("nccl:allreduce_seconds", s); });
}

std::unique_ptr<Interpreter> TrainingRun::ready_interpreter(std::unique_ptr<Interpreter> deferred) const {
  if (!deferred) return backend_.make_interpreter(step_.plan, coord_);
  dynamic_cast<DeferredMemory&>(*deferred).take_memory();
  return deferred;
}

RunStart TrainingRun::loaded(RunStart start, bool is_filled) {
  say_age(o_, "data and interpreter are ready", began_);
  ledger_.enter(TimeState::load);
  strike_in_phase(t_.inject, ranks_.rank(), "load");
  RunStart filled = fill_model(o_, ranks_, std::move(start), model_, is_filled);
  ledger_.enter(TimeState::init);
  say_age(o_, "the state is loaded", began_);
  return filled;
}

std::optional<Fp8Scales> TrainingRun::scales() {
  const auto tells = [&](const Program& p) { return p.outputs.contains(step_.scales[0].seen_name); };
  if (step_.scales.empty() || t_.skip_train || std::ranges::none_of(step_.plan.programs, tells)) return {};
  return Fp8Scales(step_, *interpreter_, o_.quantize);
}

void TrainingRun::watch_runs() {
  if (!t_.inject.empty())
    saver_.watch([this](const FileStep& step) {
      errno = faults_.save_step(step.kind);
      if (errno != 0) fail_errno(step.kind, step.path);
    });
  for (RunWatch* watch : faults_.watches()) watches_.add(watch);
  if (timing_ && timing_->watch()) watches_.add(timing_->watch());
  if (!watches_.empty()) interpreter_->watch(&watches_);
}

int TrainingRun::train() {
  ledger_.start(state_.iteration);
  if (t_.skip_train) log::say("skipping training (--skip-train is on) ...");
  const int code = t_.skip_train ? 0 : train_and_save();
  if (!is_in_doubt_ && (t_.skip_train || state_.iteration >= last_)) validate([&] { validation_.run_last(state_); });
  const std::vector<MemoryUse> memory = all_memory_use(ranks_, {need_.total(), backend_.peak_bytes()});
  observers_.take_memory_use(memory);
  observers_.finish();
  ledger_.end(state_.iteration);
  log::say("{}; sinks {:.4f}, beside the training {:.4f}", goodput_line(ledger_.total()), observers_.seconds(),
           observers_.seconds_beside());
  log::say("{}", memory_line(memory));
  return code;
}

Datasets TrainingRun::enough(Opened& run) {
  const SampleCounts needed = sample_counts(run_length(o_, state_));
  return needed == run.asked ? std::move(run.datasets) : open_data(o_, ranks_, needed);
}

void TrainingRun::say_nothing_is_left() const {
  const bool counts_samples = t_.train_samples > 0;
  log::say("  nothing is left to train: the run has done {} {}, --train-{} is {}",
           counts_samples ? state_.consumed_samples : state_.iteration, counts_samples ? "samples" : "iterations",
           counts_samples ? "samples" : "iters", counts_samples ? t_.train_samples : t_.train_iters);
}

int TrainingRun::train_and_save() {
  StopRequests requests(o_, ranks_);
  std::optional<DataLoader> loader;
  if (state_.iteration >= last_)
    say_nothing_is_left();
  else
    loader.emplace(datasets_.train,
                   rank_loader_config(o_, step_.plan.mesh, coord_, Split::train, state_.consumed_samples));
  say_age(o_, "the first step begins", began_);
  recorder_.resume(), save_interval_.resume();
  while (state_.iteration < last_) {
    if (is_left_out()) {
      leave_out(*loader);
      continue;
    }
    if (t_.profile && state_.iteration + trainer_.started() == t_.profile_step_start) profile(true);
    start(*loader);
    saver_.poll();
    tell_saves();
    while (trainer_.started() > 1 || (trainer_.started() > 0 && may_finish())) finish();
    if (!requests.look(state_.iteration + trainer_.started()) && !something_is_due()) continue;
    finish_all();
    if (t_.profile && state_.iteration == t_.profile_step_end) profile(false);
    const bool saves = saves_at(state_.iteration);
    const bool keeps_state = saves || requests.to_save() || requests.to_leave() || exits_at(state_.iteration) ||
                             saver_.saves_non_persistent_at(state_.iteration) || snapshots_.is_due(state_.iteration);
    if (const auto code = look_for_doubts(keeps_state)) return *code;
    if (validation_.is_due(state_.iteration)) validate([&] { validation_.run(state_); });
    if (saves || requests.to_save()) save();
    if (saver_.saves_non_persistent_at(state_.iteration) && !saves) save_non_persistent();
    if (snapshots_.is_due(state_.iteration)) take_snapshot();
    if (should_exit(requests)) break;
  }
  profile(false);
  save_last();
  return exit_code(requests);
}

bool TrainingRun::may_finish() {
  if (in_step_) return true;
  const bool times = timing_ && timing_->has_phases();
  const bool speaks = ((straggler_ || times) && ranks_.size() > 1) || recorder_.speaks();
  return !speaks && trainer_.ready();
}

void TrainingRun::start(DataLoader& loader) {
  try {
    faults_.step_begins(state_.iteration + trainer_.started() + 1);
    if (timing_) timing_->step_begins();
    trainer_.start_step(loader, sizes_.at(loader.consumed_samples()) / samples_at_once(), state_);
    if (timing_) timing_->step_ends();
  } catch (const std::exception&) {
    if (ranks_.size() > 1) throw;
    finish_all();
    if (state_.iteration > 0) save_last();
    throw;
  }
}

void TrainingRun::say_size(i64 before) const {
  const i64 size = sizes_.at(before), next = sizes_.at(state_.consumed_samples);
  if (size != next && state_.iteration < last_) log::say("  global batch size: {} -> {} from here on", size, next);
}

void TrainingRun::finish_all() {
  while (trainer_.started() > 0) finish();
}

void TrainingRun::finish() {
  const i64 consumed = state_.consumed_samples;
  StepResult r = trainer_.finish_step(state_);
  last_samples_ = r.samples;
  incidents_.judge(r);
  state_.skipped_samples += sizes_.dropped(consumed);
  leave_out_samples(consumed);
  ledger_.finish_step(state_.iteration, r.data_wait);
  snapshots_.make_room();
  recorder_.tell_times(ledger_.values());
  const i64 at = state_.schedule_samples;
  const Record& record =
      recorder_.take(state_, r, schedules_.lr.at(at),
                     schedules_.decoupled ? std::optional(schedules_.decoupled->at(at)) : std::nullopt);
  const bool tells_phases = timing_ && timing_->has_phases() && record.ends_interval;
  const std::string phases = tells_phases ? timing_->interval() : "";
  if (tells_phases) recorder_.tell_phases(timing_->last());
  observers_.take(record);
  const std::string cause = incidents_.take(state_, r);
  if (!r.counted || r.loss_spike || r.grad_norm_spike) observers_.flush();
  health_.look(state_.iteration, r, cause);
  if (rank_losses_) tell_rank_losses(r, record.ends_interval);
  if (tells_phases) {
    say_times(phases);
    observers_.take_times(timing_->last(), state_.iteration);
  }
  say_size(consumed);
  if ((endpoint_ || keeps_ranks()) && record.ends_interval) tell_memory();
  if (!straggler_) return;
  straggler_->step();
  if (!record.ends_interval) return;
  log::say("{}", straggler_->report());
  observers_.take_own_work(straggler_->last());
}

void TrainingRun::tell_rank_losses(const StepResult& r, bool is_due) {
  rank_losses_->add(r.micro_batches);
  if (!is_due) return;
  const RankLosses::Told told = rank_losses_->report();
  log::say("{}", told.line);
  if (!told.warning.empty()) log::warn("{}", told.warning);
  observers_.take_rank_losses(told.deviations);
}

void TrainingRun::pause(Away where) {
  observers_.leave(where);
  if (where == Away::saving) observers_.flush();
  recorder_.pause(), save_interval_.pause();
  if (straggler_) straggler_->pause();
}

void TrainingRun::resume() {
  observers_.come_back();
  recorder_.resume(), save_interval_.resume();
  if (straggler_) straggler_->resume();
}

void TrainingRun::validate(const std::function<void()>& f) {
  pause(Away::evaluating);
  const TimeState before = ledger_.enter(TimeState::eval);
  t_.evaluates() ? timed("evaluate", f) : f();
  ledger_.enter(before);
  resume();
}

void TrainingRun::say_times(const std::string& block) const {
  if (!block.empty()) log::say("{}", block);
}

void TrainingRun::timed(const std::string& name, const std::function<void()>& f) {
  const double began = steady_seconds();
  f();
  if (timing_) say_times(timing_->of(name, steady_seconds() - began));
}

void TrainingRun::profile(bool on) {
  if (profiled_ != on) interpreter_->profile(on);
  profiled_ = on;
}

std::optional<double> TrainingRun::peak() const {
  return peak_flops(backend_.device_name(), precision_of(o_).products);
}

bool TrainingRun::something_is_due() const {
  const i64 iteration = state_.iteration + trainer_.started();
  return iteration == last_ || validation_.is_due(iteration) || saves_at(iteration) ||
         saver_.saves_non_persistent_at(iteration) || snapshots_.is_due(iteration) || compares_weights_at(iteration) ||
         replays_at(iteration) ||
         (t_.profile && (iteration == t_.profile_step_start || iteration == t_.profile_step_end)) ||
         exits_at(iteration);
}

i64 TrainingRun::samples_at_once() const { return t_.micro_batch_size * step_.plan.mesh.n(groups::data); }

}  // namespace megalith
