#include "resume/checkpointing.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "base/canonical_path.h"
#include "base/json_field.h"
#include "base/log.h"
#include "base/parse_json.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_directory.h"
#include "ckpt/not_loadable.h"
#include "config/file.h"
#include "resume/loss_scale_json.h"
#include "resume/no_weights.h"
#include "resume/resume.h"
#include "resume/stored_model.h"
#include "resume/upcycling.h"
#include "settings/schedules.h"
#include "state/read_state.h"

namespace megalith {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The key "losses" holds all sums, including those of other metrics.
json interval_json(const Interval& i) {
  json sums = json::object();
  for (const NamedValue& sum : i.sums) sums[sum.name] = sum.value;
  return {{"losses", sums}, {"advanced", i.advanced}, {"skipped", i.skipped}, {"nan", i.nan}};
}

json data_json(const std::vector<DatasetUse>& data) {
  json list = json::array();
  for (const DatasetUse& use : data)
    list.push_back({{"path", use.name}, {"samples", use.samples}, {"epochs", use.epochs}});
  return list;
}

std::string state_json(const RunProgress& p, const Schedules& schedules, const std::string& stack) {
  json j = {{"schedule_samples", p.state.schedule_samples},
            {"optimizer_steps", p.state.optimizer_steps},
            {"skipped_iterations", p.state.skipped_iterations},
            {"skipped_samples", p.state.skipped_samples},
            {"interval", interval_json(p.interval)},
            {"data", data_json(p.data)},
            {"schedules", schedules_to_json(schedules)}};
  if (!stack.empty()) j["stack"] = stack;
  if (!p.hf_config.empty()) j["hf_config"] = p.hf_config;
  if (p.state.loss_scale) j["loss_scale"] = to_json(*p.state.loss_scale);
  return j.dump(2, ' ', false, json::error_handler_t::replace);
}

json parse_state(const AnyCheckpoint& c) {
  auto j = parse_json<json>(c.manifest.state_json);
  check(j.is_object(), "{}: its training state is not a JSON object", c.path);
  return j;
}

RunProgress read_progress(const AnyCheckpoint& c, const json& j) {
  try {
    RunProgress p;
    p.state = {.iteration = c.manifest.iteration,
               .consumed_samples = c.manifest.consumed_samples,
               .schedule_samples = count_field(j, "schedule_samples"),
               .optimizer_steps = count_field(j, "optimizer_steps"),
               .skipped_iterations = count_field(j, "skipped_iterations"),
               .skipped_samples = j.contains("skipped_samples") ? count_field(j, "skipped_samples") : 0};
    if (j.contains("loss_scale")) p.state.loss_scale = read_loss_scale(j["loss_scale"]);
    const json& i = field(j, "interval");
    for (const auto& [name, sum] : field(i, "losses").items())
      p.interval.sums.push_back({name, sum.is_number() ? sum.get<double>() : std::nan("")});
    if (j.contains("data"))
      for (const json& use : j["data"])
        p.data.push_back(
            {field_as<std::string>(use, "path"), count_field(use, "samples"), field_as<double>(use, "epochs")});
    p.interval.advanced = count_field(i, "advanced"), p.interval.skipped = count_field(i, "skipped");
    p.interval.nan = count_field(i, "nan");
    return p;
  } catch (const Error& e) {
    fail("{}: its training state cannot be read: {}", c.path, e.what());
  }
}

// The names of settings in a checkpoint. A native one has all of ours; Megatron's has some of its arguments.
std::set<std::string> names_in(const std::string& config_json) {
  std::set<std::string> names;
  const auto settings = parse_json<json>(config_json);
  for (const auto& [name, value] : settings.items()) names.insert(name);
  return names;
}

}  // namespace

Manifest manifest_of(const Options& options, const RunProgress& progress, const Schedules& schedules) {
  Options stored = options;
  return {progress.state.iteration, progress.state.consumed_samples, config::to_json(config::fields_of(stored)),
          state_json(progress, schedules, options.stack)};
}

RunStart::RunStart(const Options& options, const StartChoice& choice)
    : load_(choice.non_persistent ? choice.non_persistent->path : options.train.load),
      is_non_persistent_(choice.non_persistent || choice.snapshot),
      is_snapshot_(choice.snapshot != nullptr),
      parallel_(options.parallel),
      seed_(u64(options.train.seed)),
      schedules_(make_schedules(options)) {
  if (is_snapshot_)
    load_ = choice.snapshot->path, checkpoint_ = std::move(*choice.snapshot), read_opened(options);
  else if (!load_.empty())
    open(options, choice);
  if (refusal_.empty()) refusal_ = overwriting(options.train);
}

void RunStart::open(const Options& options, const StartChoice& choice) {
  const auto place = find_loadable(load_, is_non_persistent_ ? 0 : options.train.ckpt_step);
  if (!place) {
    check(!options.train.exit_on_missing_checkpoint, "--load {}: it has no checkpoint", load_);
    check(options.train.ckpt_step == 0,
          "--ckpt-step {}: {} has no checkpoint; leave the flag out to start from iteration 0", options.train.ckpt_step,
          load_);
    check_no_weights(load_);  // at the first start of a run the directory is empty
    const std::string below = load_ == options.train.save ? "" : model_below(load_);
    check(below.empty(), "--load {}: it has no checkpoint, but {} has one", load_, below);
    return;
  }
  AnyOpenOptions how = open_unverified(is_non_persistent_ ? 0 : options.train.ckpt_step);
  how.vocab_size = options.model.vocab_size;
  how.no_later_than = choice.no_later_than;
  // Data-parallel ranks hold the same state, unless the distributed optimizer divides it.
  const ParallelConfig& p = options.parallel;
  how.past_cache = p.use_distributed_optimizer || p.data_parallel_size() * p.context_parallel_size == 1;
  how.whole = !choice.non_persistent || !choice.non_persistent->own;
  checkpoint_ = open_any_checkpoint(*place, how);
  read_opened(options);
}

void RunStart::read_opened(const Options& options) {
  try {
    if (checkpoint_->format == CkptFormat::hf)
      check_same_model(model_to_load(options), *checkpoint_->model, load_);
    else
      read_run(options);
  } catch (const Error& e) {
    refusal_ = e.what();
  }
  if (!options.train.moe_use_upcycling) {
    progress_.hf_config = checkpoint_->hf_config;
  } else if (refusal_.empty()) {
    const i64 granularity = options.train.moe_upcycling_granularity;
    checkpoint_->tensors = upcycled(checkpoint_->tensors, options.model, granularity, seed_);
  }
}

std::string RunStart::overwriting(const TrainConfig& t) const {
  if (t.save.empty() || is_non_persistent_) return {};
  // Compares real paths: either directory may be a link to the other.
  const auto is_in_save = [&](const std::string& path) {
    const fs::path place = fs::path(path + "/").lexically_normal().parent_path();
    return canonical_path((place.parent_path() / ".").string()) == canonical_path(t.save);
  };
  const bool goes_on = checkpoint_ && !t.finetune && !t.moe_use_upcycling &&
                       (is_in_save(checkpoint_->path) || is_in_save(canonical_path(checkpoint_->path)));
  const std::vector<FoundCheckpoint> there = goes_on ? std::vector<FoundCheckpoint>() : list_checkpoints(t.save);
  if (there.empty()) return {};
  return fmt::format(
      "--save {0} holds checkpoints up to iteration {1}, which this run does not resume from: it would overwrite them; "
      "give --load {0}{2} to resume from them, or another --save",
      t.save, there.back().iteration,
      t.moe_use_upcycling ? " without --moe-use-upcycling"
      : t.finetune        ? " without --finetune"
                          : "");
}

void RunStart::read_run(const Options& options) {
  const TrainConfig& t = options.train;
  const AnyCheckpoint& c = *checkpoint_;
  const Options stored = stored_options(c);
  check_same_model(model_to_load(options), *c.model, c.path);
  const bool weights_only = !c.has_optimizer();
  from_zero_ = t.finetune || t.moe_use_upcycling || is_release(c.path) || (c.manifest.iteration == 0 && weights_only);
  with_optimizer_ = !from_zero_ && !t.no_load_optim;
  if (from_zero_) return;
  check(!with_optimizer_ || c.state_problem.empty(), "[load] {}: {}, or give --no-load-optim, or --finetune", c.path,
        c.state_problem);
  check(!with_optimizer_ || !weights_only,
        "{} was saved without the optimizer's state: give --no-load-optim, or --finetune to start from iteration 0",
        c.path);
  check(!with_optimizer_ || stored.optimizer.optimizer == options.optimizer.optimizer,
        "{} was saved with another --optimizer: give the same one, or --no-load-optim", c.path);
  const json state = parse_state(c);
  progress_ = read_progress(c, state);
  if (t.no_load_optim) progress_.state.optimizer_steps = 0, progress_.state.loss_scale.reset();
  schedules_ = choose_schedules(options, state.contains("schedules") ? state["schedules"] : json(), c.path);
  const std::set<std::string> told = names_in(c.manifest.config_json);
  const std::string changed = changed_settings(options, stored, told);
  if (!changed.empty()) log::warn("{} was saved with other settings; the run uses its own: {}", c.path, changed);
  const std::string samples = changed_samples(options, stored, told, progress_.state);
  if (!samples.empty()) log::warn("{}: {}", c.path, samples);
  if (samples.empty())
    changed_order_ = [options, stored, told, state = progress_.state, path = c.path](const Dataset& train) {
      const std::string changed = changed_epochs(options, stored, told, state, train);
      return changed.empty() ? "" : fmt::format("{}: {}", path, changed);
    };
  const std::string layout = layout_text(stored.parallel);
  if (told.contains("tensor_model_parallel_size") && layout != layout_text(parallel_))
    log::say("  {} was saved under {}", c.path, layout);
}

void RunStart::check_accepted() const { check(refusal_.empty(), "{}", refusal_); }

std::optional<i64> RunStart::iteration() const {
  return checkpoint_ ? std::optional(checkpoint_->manifest.iteration) : std::nullopt;
}

std::string RunStart::passed_over() const { return checkpoint_ ? checkpoint_->passed_over : ""; }
std::string RunStart::place() const { return checkpoint_ ? checkpoint_->path : ""; }

void RunStart::verify(const Share& share) {
  if (checkpoint_) checkpoint_->verify(share);
}

void RunStart::fill(ModelState& model, int threads) const {
  if (checkpoint_)
    read_state(*checkpoint_->tensors, with_optimizer_, model, is_snapshot_ ? threads : 0);
  else
    model.initialise(seed_);
}

void RunStart::say_filled() const {
  if (!checkpoint_) return;
  if (checkpoint_->format == CkptFormat::hf) return log::say("  successfully loaded weights from {}", load_);
  log::say("{}", loaded_line(load_, parallel_, checkpoint_->manifest.iteration));
}

// Unmapping tens of gigabytes takes the system seconds, so a thread does it.
void RunStart::let_go() {
  if (!checkpoint_) return;
  if (is_snapshot_) std::thread([seen = std::move(checkpoint_->tensors)] {}).detach();
  checkpoint_->tensors.reset(), checkpoint_->mark = {};
}

}  // namespace megalith
