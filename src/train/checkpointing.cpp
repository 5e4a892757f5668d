#include "train/checkpointing.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "ckpt/hf_weights.h"
#include "config/file.h"
#include "train/resume.h"
#include "train/schedules.h"

namespace megalith {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json interval_json(const Interval& i) {
  json losses = json::object();
  for (const NamedValue& loss : i.mean_losses) losses[loss.name] = loss.value;
  return {{"losses", losses}, {"advanced", i.advanced}, {"skipped", i.skipped}, {"nan", i.nan}};
}

std::string state_json(const RunProgress& p, const Schedules& schedules) {
  return json{{"schedule_samples", p.state.schedule_samples},
              {"optimizer_steps", p.state.optimizer_steps},
              {"skipped_iterations", p.state.skipped_iterations},
              {"interval", interval_json(p.interval)},
              {"schedules", schedules_to_json(schedules)}}
      .dump(2);
}

json parse_state(const Checkpoint& c) {
  json j = json::parse(c.manifest().state_json, nullptr, false);
  check(j.is_object(), "{}: its training state is not a JSON object", c.path());
  return j;
}

RunProgress read_progress(const Checkpoint& c, const json& j) {
  try {
    RunProgress p;
    p.state = {.iteration = c.manifest().iteration,
               .consumed_samples = c.manifest().consumed_samples,
               .schedule_samples = j.at("schedule_samples"),
               .optimizer_steps = j.at("optimizer_steps"),
               .skipped_iterations = j.at("skipped_iterations")};
    const json& i = j.at("interval");
    for (const auto& [name, sum] : i.at("losses").items())
      p.interval.mean_losses.push_back({name, sum.is_number() ? sum.get<double>() : std::nan("")});
    p.interval.advanced = i.at("advanced"), p.interval.skipped = i.at("skipped"), p.interval.nan = i.at("nan");
    return p;
  } catch (const json::exception& e) {
    fail("{}: its training state cannot be read: {}", c.path(), e.what());
  }
}

Options stored_options(const Checkpoint& c) {
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  config::from_json(fields, c.manifest().config_json, c.path() + "/manifest.json");
  return stored;
}

bool is_optimizer_tensor(const std::string& name) { return name.starts_with("optimizer."); }

bool has_optimizer(const Checkpoint& c) {
  for (const CheckpointTensor& t : c.tensors())
    if (is_optimizer_tensor(t.name)) return true;
  return false;
}

void read_tensors(const Checkpoint& c, ModelState& model, bool with_optimizer) {
  std::vector<NamedShape> expected;
  for (const StateTensor& t : model.tensors())
    if (t.is_weight || with_optimizer) expected.push_back({t.name, t.shape});
  c.check_tensors(expected, [&](const std::string& name) {
    return model.is_stage() || (!with_optimizer && is_optimizer_tensor(name));  // other stages hold the others
  });
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    check(c.find(t.name)->dtype == DType::f32, "{}: tensor {} is {}, want f32", c.path(), t.name,
          name_of(c.find(t.name)->dtype));
    model.write(t, [&](std::span<float> values) { c.read(t.name, std::as_writable_bytes(values)); });
  }
  model.finish();
}

OpenOptions open_options(i64 iteration) {
  OpenOptions o;
  if (iteration > 0) o.iteration = iteration;
  return o;
}

void read_hf_weights(const std::string& dir, ModelState& model) {
  const HfConfig hf = read_hf_config(dir);
  import_hf(dir, hf, [&](const std::string& name, const Shape& shape, std::span<const float> values) {
    for (const StateTensor& t : model.tensors()) {
      if (!t.is_weight || t.name != name) continue;
      check(t.shape == shape, "{}: {} is {}, the model's is {}", dir, name, to_string(shape), to_string(t.shape));
      return model.write(t, values);
    }
    check(model.is_stage(), "{}: the model has no parameter {}", dir, name);
  });
  model.finish();
}

}  // namespace

bool save_run(const Options& options, const ModelState& model, const RunProgress& progress,
              const Schedules& schedules) {
  const TrainConfig& train = options.train;
  const RunState& state = progress.state;
  std::vector<SaveTensor> tensors;
  std::vector<float> copy;  // of memory that the host can't see
  model.begin_reading();
  for (const StateTensor& t : model.tensors()) {
    if (train.no_save_optim && !t.is_weight) continue;
    SaveTensor& out = tensors.emplace_back(SaveTensor{t.name, t.shape, DType::f32});
    if (t.leaf->type.dtype == DType::f32) out.data = model.host_view(t);
    if (!out.data) out.fetch = [&model, &copy, &t] { return (copy = model.read(t)).data(); };
  }
  Options stored = options;
  const Manifest manifest{state.iteration, state.consumed_samples, config::to_json(config::fields_of(stored)),
                          state_json(progress, schedules)};
  try {
    save_checkpoint(train.save, manifest, tensors,
                    {.keep_last = train.most_recent_k, .keep_multiples = train.save_retain_interval});
  } catch (const std::exception& e) {
    log::warn("checkpoint at iteration {} was not saved, training goes on: {}", state.iteration, e.what());
    return false;
  }
  log::say("  successfully saved checkpoint from iteration {:7d} to {}", state.iteration, train.save);
  return true;
}

RunStart::RunStart(const Options& options)
    : load_(options.train.load), seed_(u64(options.train.seed)), schedules_(make_schedules(options)) {
  if (load_.empty()) return;
  if (!is_loadable(load_)) {
    check(!options.train.exit_on_missing_checkpoint, "--load {}: no checkpoint is there", load_);
    // Where this run will save, nothing yet is what a first start finds.
    check(load_ == options.train.save || fs::exists(load_), "--load {}: no such directory", load_);
    log::say("  no checkpoint in {}: starting from random weights", load_);
    return;
  }
  hub_ = is_hf_directory(load_);
  if (hub_)
    check_same_model(options.model, read_hf_config(load_).model, load_);
  else
    open_checkpoint_of(options);
}

void RunStart::open_checkpoint_of(const Options& options) {
  const TrainConfig& t = options.train;
  checkpoint_ = open_checkpoint(load_, open_options(t.ckpt_step));
  const Checkpoint& c = *checkpoint_;
  const Options stored = stored_options(c);
  check_same_model(options.model, stored.model, c.path());
  const bool weights_only = !has_optimizer(c);
  from_zero_ = t.finetune || (c.manifest().iteration == 0 && weights_only);
  with_optimizer_ = !from_zero_ && !t.no_load_optim;
  if (from_zero_) return;
  check(!with_optimizer_ || !weights_only,
        "{} was saved without the optimizer's state: give --no-load-optim, or --finetune to start from iteration 0",
        c.path());
  check(!with_optimizer_ || stored.optimizer.optimizer == options.optimizer.optimizer,
        "{} was saved with another --optimizer: give the same one, or --no-load-optim", c.path());
  const json state = parse_state(c);
  progress_ = read_progress(c, state);
  if (t.no_load_optim) progress_.state.optimizer_steps = 0;
  schedules_ = choose_schedules(options, state.contains("schedules") ? state["schedules"] : json(), c.path());
  const std::string changed = changed_settings(options, stored);
  if (!changed.empty())
    log::warn("{} was saved with other settings, the run goes on with these: {}", c.path(), changed);
}

void RunStart::fill(ModelState& model) const {
  if (hub_) {
    read_hf_weights(load_, model);
    log::say("  successfully loaded weights from {}", load_);
  } else if (checkpoint_) {
    read_tensors(*checkpoint_, model, with_optimizer_);
    log::say("  successfully loaded checkpoint from {} [ t 1/1, p 1/1 ] at iteration {}", load_,
             checkpoint_->manifest().iteration);
  } else {
    model.initialise(seed_);
  }
}

void load_weights(const std::string& dir, i64 iteration, ModelState& model) {
  if (is_hf_directory(dir)) return read_hf_weights(dir, model);
  read_tensors(open_checkpoint(dir, open_options(iteration)), model, false);
}

StoredModel read_stored_model(const std::string& dir, i64 iteration) {
  check(is_loadable(dir), "--load {}: neither a checkpoint nor a Hugging Face model (config.json) is there", dir);
  if (is_hf_directory(dir)) return {read_hf_config(dir).model, {}};
  OpenOptions open = open_options(iteration);
  open.verify = false;  // whoever loads the weights verifies them
  const Options stored = stored_options(open_checkpoint(dir, open));
  return {stored.model, stored.tokenizer};
}

bool is_loadable(const std::string& dir) {
  check(!fs::exists(dir) || fs::is_directory(dir), "--load {}: this is a file, want a directory", dir);
  return is_hf_directory(dir) || has_checkpoint(dir);
}

}  // namespace megalith
