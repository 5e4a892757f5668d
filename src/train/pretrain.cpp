#include "train/pretrain.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "base/process_memory.h"
#include "train/checkpointing.h"
#include "train/flops.h"
#include "train/peak_flops.h"
#include "train/pipeline.h"
#include "train/plan_report.h"
#include "train/run_log.h"
#include "train/schedules.h"
#include "train/together.h"

namespace megalith {

namespace {

Coord coord_of(const Plan& plan, const Ranks& ranks) {
  return plan.mesh.num_ranks() > 1 ? plan.mesh.coord(ranks.rank()) : Coord{};
}

class TrainingRun {
 public:
  TrainingRun(const Options& options, PlannedStep step, const Backend& backend, Ranks& ranks, RunStart start,
              Datasets datasets, const MemoryNeed& need)
      : o_(options),
        t_(o_.train),
        backend_(backend),
        ranks_(ranks),
        need_(need),
        step_(std::move(step)),
        coord_(coord_of(step_.plan, ranks)),
        interpreter_(backend.make_interpreter(step_.plan, coord_)),
        model_(step_, *interpreter_, coord_),
        schedules_(start.schedules()),
        trainer_(step_, *interpreter_, coord_, o_.optimizer, schedules_),
        datasets_(std::move(datasets)),
        state_(start.progress().state),
        log_(o_, start.progress(), train_iters(o_), peak(), ranks.rank() == 0) {
    if (start.resumes() && t_.load == t_.save) saved_ = state_.iteration;
    start.fill(model_);
  }

  int train() {
    const auto began = std::chrono::steady_clock::now();
    std::optional<DataLoader> loader;
    if (state_.iteration < train_iters(o_)) loader.emplace(datasets_.train, loader_config_at(state_.consumed_samples));
    log_.resume();
    while (state_.iteration < train_iters(o_)) {
      if (t_.profile && state_.iteration + trainer_.started() == t_.profile_step_start) profile(true);
      start(*loader);
      while (trainer_.started() > 1 || (trainer_.started() > 0 && trainer_.ready())) finish();
      if (!something_is_due(began)) continue;
      finish_all();
      if (t_.profile && state_.iteration == t_.profile_step_end) profile(false);
      if (evaluates_at(state_.iteration))
        evaluate(datasets_.valid, fmt::format("iteration {}", state_.iteration), true);
      if (saves_at(state_.iteration)) save();
      if (should_exit(began)) break;
    }
    profile(false);
    if (!t_.save.empty() && saved_ != state_.iteration) save();
    if (state_.iteration >= train_iters(o_)) final_evaluations();
    log_.finish();
    log::say("{}", memory_line(need_, backend_));
    return 0;
  }

 private:
  // What goes wrong in reading data must not cost the steps done since the last checkpoint.
  void start(DataLoader& loader) {
    try {
      trainer_.start_step(loader, t_.global_batch_size / samples_at_once(), state_);
    } catch (const Error&) {
      finish_all();
      if (!t_.save.empty() && saved_ != state_.iteration && state_.iteration > 0) save();
      throw;
    }
  }

  void finish_all() {
    while (trainer_.started() > 0) finish();
  }

  void finish() {
    StepResult r = trainer_.finish_step(state_);
    if (t_.log_params_norm) r.params_norm = std::sqrt(sum_over(ranks_, model_.squares()));
    if (t_.log_num_zeros_in_grad) r.num_zeros = i64(sum_over(ranks_, double(model_.zeros_in_gradients())));
    bad_in_a_row_ = r.counted ? 0 : bad_in_a_row_ + 1;
    if (!r.counted && t_.check_for_nan_in_loss_and_grad)
      log::warn("iteration {}: loss {}, gradient norm {}: the step is skipped ({} in a row)", state_.iteration, r.loss,
                r.grad_norm, bad_in_a_row_);
    log_.step(state_, r, schedules_.lr.at(state_.schedule_samples));
  }

  void profile(bool on) {
    if (profiled_ != on) interpreter_->profile(on);
    profiled_ = on;
  }

  std::optional<double> peak() const { return peak_flops(backend_.device_name(), t_.bf16 ? DType::bf16 : DType::f32); }

  bool evaluates_at(i64 iteration) const { return t_.eval_interval > 0 && iteration % t_.eval_interval == 0; }
  bool saves_at(i64 iteration) const {
    return !t_.save.empty() && t_.save_interval > 0 && iteration % t_.save_interval == 0;
  }

  // Behind the step started last, something needs all steps finished: the end, or what looks at the model.
  bool something_is_due(std::chrono::steady_clock::time_point began) const {
    const i64 iteration = state_.iteration + trainer_.started();
    return iteration == train_iters(o_) || evaluates_at(iteration) || saves_at(iteration) ||
           (t_.profile && (iteration == t_.profile_step_start || iteration == t_.profile_step_end)) ||
           (t_.exit_interval > 0 && iteration % t_.exit_interval == 0) || time_is_up(began) || t_.log_params_norm ||
           t_.log_num_zeros_in_grad;
  }

  // What the first rank of the last stage has, where others have nothing or the same.
  double from_last_stage(double x) {
    Coord one{};
    one[int(Axis::pp)] = step_.plan.mesh.n(Axis::pp) - 1;
    return sum_over(ranks_, coord_ == one ? x : 0);
  }

  // Of all data-parallel ranks, in one micro-batch.
  i64 samples_at_once() const { return t_.micro_batch_size * step_.plan.mesh.n(Axis::dp); }

  LoaderConfig loader_config_at(i64 consumed) const {
    LoaderConfig c = loader_config(o_.data);
    c.consumed_samples = consumed;
    c.micro_batch_size = t_.micro_batch_size;
    c.data_parallel_rank = coord_[int(Axis::dp)], c.data_parallel_size = step_.plan.mesh.n(Axis::dp);
    return c;
  }

  void evaluate(const std::shared_ptr<const Dataset>& set, const std::string& where, bool record) {
    if (t_.eval_iters <= 0 || !set) return;
    log_.pause();
    const i64 done = t_.eval_interval > 0 && record ? (state_.iteration / t_.eval_interval - 1) : 0;
    const i64 samples = t_.eval_iters * t_.global_batch_size;
    const i64 first = set->size() >= (done + 1) * samples ? done * samples : 0;
    DataLoader loader(set, loader_config_at(first));
    auto e = trainer_.evaluate(loader, samples / samples_at_once());
    if (step_.pipeline) e = {from_last_stage(e.loss_sum), from_last_stage(e.tokens)};
    log_.validation(where, state_, e.mean(), record);
    log_.resume();
  }

  void final_evaluations() {
    const bool done = t_.eval_interval > 0 && state_.iteration % t_.eval_interval == 0;
    if (!done) evaluate(datasets_.valid, fmt::format("iteration {} on validation set", state_.iteration), false);
    evaluate(datasets_.test, fmt::format("iteration {} on test set", state_.iteration), false);
  }

  void save() {
    log_.pause();
    if (save_run(o_, model_, ranks_, {state_, log_.interval()}, schedules_)) saved_ = state_.iteration;
    log_.resume();
  }

  static double minutes_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / 60;
  }
  // By the clock of rank 0, so that all leave at one iteration.
  bool time_is_up(std::chrono::steady_clock::time_point began) const {
    if (t_.exit_duration_in_mins <= 0) return false;
    return ranks_.all_gather(minutes_since(began) >= t_.exit_duration_in_mins ? "up" : "")[0] == "up";
  }

  bool should_exit(std::chrono::steady_clock::time_point began) const {
    const bool time = time_is_up(began);
    const bool interval = t_.exit_interval > 0 && state_.iteration % t_.exit_interval == 0;
    if (time) log::say("exiting program after {:.3f} minutes", minutes_since(began));
    if (interval) log::say("exiting program at iteration {}", state_.iteration);
    return time || interval;
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
  Schedules schedules_;
  Trainer trainer_;
  Datasets datasets_;
  RunState state_;
  RunLog log_;
  i64 saved_ = -1;  // iteration of the last checkpoint
  i64 bad_in_a_row_ = 0;
  bool profiled_ = false;  // now
};

bool has_data(const DataConfig& d) {
  return d.mock_data || !d.data_path.empty() || !d.train_data_path.empty() || !d.valid_data_path.empty() ||
         !d.test_data_path.empty();
}

// A dry run may be made before there is any data.
Datasets open_data(const Options& o) {
  if (o.train.dry_run && !has_data(o.data)) return {};
  Datasets sets = build_datasets(o.data, sample_counts(run_length(o)));
  log::say("> finished creating GPT datasets ...");
  check(sets.train != nullptr, "there is nothing to train on: --split gives the training set no documents");
  if (o.train.eval_iters > 0 && o.train.eval_interval > 0 && !sets.valid)
    log::warn("--eval-interval has no effect: there is no validation data (--split, --valid-data-path)");
  return sets;
}

// A place to save that cannot be had is noticed before training, not after it.
void check_save_place(const TrainConfig& t) {
  if (t.save.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(t.save, error);
  check(!error && std::filesystem::is_directory(t.save), "--save {}: cannot make this directory{}{}: choose another",
        t.save, error ? ": " : "", error ? error.message() : "");
}

// What the figures of --log-throughput mean.
std::string throughput_line(const Options& o, const Backend& backend) {
  const DType dtype = o.train.bf16 ? DType::bf16 : DType::f32;
  const auto peak = peak_flops(backend.device_name(), dtype);
  const std::string mfu = peak ? fmt::format("MFU is of {:.0f} TFLOP/s, the dense peak of {} in {}", *peak / 1e12,
                                             backend.device_name(), name_of(dtype))
                               : fmt::format("MFU is left out: the dense peak of {} in {} is not known",
                                             backend.device_name(), name_of(dtype));
  return fmt::format(
      "throughput: model flops with attention at half of its square, as causal kernels compute it (the whole square "
      "would "
      "be {:.1f} % more); {}",
      100 * attention_flops_per_token(o.model) / flops_per_token(o.model), mfu);
}

// All that is checked and opened before memory is taken.
struct Opened {
  RunStart start;
  PlannedStep step;
  Datasets datasets;
  MemoryNeed need;
};

int stage_of(const Options& o, const Ranks& ranks) {
  return o.train.dry_run ? 0 : mesh_of(o.parallel, o.model).coord(ranks.rank())[int(Axis::pp)];
}

Opened open_run(const Options& o, const Backend& backend, Ranks& ranks) {
  std::optional<RunStart> start;
  PlannedStep step;
  const auto need = [&] { return memory_need(o, step, backend, start->resumes()); };
  together(ranks, [&] {
    if (!o.train.dry_run) check_sizes(o, backend);
    start.emplace(o);
    step = plan_step(step_spec(o, stage_of(o, ranks)), backend);
    if (!o.train.dry_run) check_memory(o, need(), backend, ranks.place());  // first: an index may take long to build
  });
  if (!o.train.dry_run) {
    const Coord coord = coord_of(step.plan, ranks);
    backend.connect(step.plan, coord, links_of(step, coord));
  }
  Datasets datasets;
  const bool builds = ranks.place().local_rank == 0;  // a host's first rank writes the index, the others read it
  for (const bool turn : {true, false})
    together(ranks, [&] {
      if (builds == turn) datasets = open_data(o);
    });
  MemoryNeed total;
  together(ranks, [&] {
    if (o.train.print_graph) log::say("{}", print(step.train));
    if (o.train.print_plan) log::say("{}", print(step.plan));
    total = need();
    log::say("{}", plan_report(o, step, total));
    if (const std::string stages = o.train.dry_run ? stages_report(o, backend) : ""; !stages.empty())
      log::say("{}", stages);
    if (!o.train.dry_run) check_memory(o, total, backend, ranks.place()), check_save_place(o.train);
    if (!o.train.dry_run) check_host_memory(total, available_host_bytes() / ranks.place().local_size);
  });
  return {std::move(*start), std::move(step), std::move(datasets), total};
}

}  // namespace

int pretrain_gpt(Options options, const Backend& backend, Ranks& ranks) {
  if (ranks.size() > 1)
    check_agreement(ranks, {{"the program", program_identity()}, {"the flags", arguments_text(options)}});
  log::say("{}", arguments_text(options));
  for (const std::string& note : options.notes) log::say("{}", note);
  const std::string map = rank_map(mesh_of(options.parallel, options.model));
  if (!map.empty()) log::say("{}", map);
  Opened run = open_run(options, backend, ranks);
  if (options.train.dry_run) return 0;
  if (ranks.size() > 1) check_agreement(ranks, {{"the plans", print(run.step.plan)}}, stage_of(options, ranks));
  if (options.train.log_throughput) log::say("{}", throughput_line(options, backend));
  if (options.train.profile && backend.name() == "cpu") log::warn("--profile has no effect on the CPU");
  return TrainingRun(options, std::move(run.step), backend, ranks, std::move(run.start), std::move(run.datasets),
                     run.need)
      .train();
}

}  // namespace megalith
