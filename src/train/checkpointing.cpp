#include "train/checkpointing.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/convert.h"
#include "ckpt/hf_weights.h"
#include "config/file.h"
#include "train/resume.h"
#include "train/schedules.h"
#include "train/state_tensors.h"

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

json parse_state(const AnyCheckpoint& c) {
  json j = json::parse(c.manifest.state_json, nullptr, false);
  check(j.is_object(), "{}: its training state is not a JSON object", c.path);
  return j;
}

RunProgress read_progress(const AnyCheckpoint& c, const json& j) {
  try {
    RunProgress p;
    p.state = {.iteration = c.manifest.iteration,
               .consumed_samples = c.manifest.consumed_samples,
               .schedule_samples = j.at("schedule_samples"),
               .optimizer_steps = j.at("optimizer_steps"),
               .skipped_iterations = j.at("skipped_iterations")};
    const json& i = j.at("interval");
    for (const auto& [name, sum] : i.at("losses").items())
      p.interval.mean_losses.push_back({name, sum.is_number() ? sum.get<double>() : std::nan("")});
    p.interval.advanced = i.at("advanced"), p.interval.skipped = i.at("skipped"), p.interval.nan = i.at("nan");
    return p;
  } catch (const json::exception& e) {
    fail("{}: its training state cannot be read: {}", c.path, e.what());
  }
}

Options stored_options(const AnyCheckpoint& c) {
  check(!c.foreign(), "{} holds a model of an architecture that is not built yet", c.path);
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  config::from_json(fields, c.manifest.config_json, c.path);
  return stored;
}

bool is_optimizer_tensor(const std::string& name) { return name.starts_with("optimizer."); }

void read_tensors(const AnyCheckpoint& c, ModelState& model, bool with_optimizer) {
  std::vector<NamedShape> expected, found;
  for (const StateTensor& t : model.tensors())
    if (t.is_weight || with_optimizer) expected.push_back({t.name, t.shape});
  for (const TensorSpec& t : c.tensors->tensors()) {
    if (!with_optimizer && is_optimizer_tensor(t.name)) continue;
    if (model.is_stage() && !model.has(t.name)) continue;  // another stage's
    found.push_back({t.name, t.shape});
  }
  check_same_tensors("[load] " + c.path, expected, found);
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    const std::size_t stored = c.tensors->at(t.name);
    check(is_float(c.tensors->tensors()[stored].dtype), "{}: tensor {} is {}, want a floating-point type", c.path,
          t.name, name_of(c.tensors->tensors()[stored].dtype));
    model.write(t, [&](std::span<float> values) {
      c.tensors->read_range_as(stored, 0, i64(values.size()), DType::f32, std::as_writable_bytes(values).data());
    });
  }
  model.finish();
}

AnyOpenOptions open_options(i64 iteration) {
  AnyOpenOptions o;
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

static void save_native(const TrainConfig& train, const Manifest& manifest, const ModelState& model,
                        const SaveOptions& keep) {
  std::vector<SaveTensor> tensors;
  std::vector<float> copy;  // of memory that the host can't see
  model.begin_reading();
  for (const StateTensor& t : model.tensors()) {
    if (train.no_save_optim && !t.is_weight) continue;
    SaveTensor& out = tensors.emplace_back(SaveTensor{t.name, t.shape, DType::f32});
    if (t.leaf->type.dtype == DType::f32) out.data = model.host_view(t);
    if (!out.data) out.fetch = [&model, &copy, &t] { return (copy = model.read(t)).data(); };
  }
  save_checkpoint(train.save, manifest, tensors, keep);
}

static void save_torch_dist(const Options& options, const Manifest& manifest, const ModelState& model,
                            const SaveOptions& keep) {
  AnyCheckpoint run{.path = options.train.save, .manifest = manifest, .model = options.model};
  run.tensors = std::make_shared<StateTensors>(model, !options.train.no_save_optim);
  convert_checkpoint(run, CkptFormat::torch_dist, options.train.save, {});
  remove_old_checkpoints(options.train.save, manifest.iteration, keep);
}

bool save_run(const Options& options, const ModelState& model, const RunProgress& progress,
              const Schedules& schedules) {
  const TrainConfig& train = options.train;
  const RunState& state = progress.state;
  Options stored = options;
  const Manifest manifest{state.iteration, state.consumed_samples, config::to_json(config::fields_of(stored)),
                          state_json(progress, schedules)};
  const SaveOptions keep{.keep_last = train.most_recent_k, .keep_multiples = train.save_retain_interval};
  try {
    if (train.ckpt_format == SaveFormat::torch_dist)
      save_torch_dist(options, manifest, model, keep);
    else
      save_native(train, manifest, model, keep);
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
  AnyOpenOptions open = open_options(t.ckpt_step);
  open.vocab_size = options.model.vocab_size;
  checkpoint_ = open_any_checkpoint(load_, open);
  const AnyCheckpoint& c = *checkpoint_;
  const Options stored = stored_options(c);
  check_same_model(options.model, *c.model, c.path);
  const bool weights_only = !c.has_optimizer();
  from_zero_ = t.finetune || (c.manifest.iteration == 0 && weights_only);
  with_optimizer_ = !from_zero_ && !t.no_load_optim;
  if (from_zero_) return;
  check(!with_optimizer_ || !weights_only,
        "{} was saved without the optimizer's state: give --no-load-optim, or --finetune to start from iteration 0",
        c.path);
  check(!with_optimizer_ || stored.optimizer.optimizer == options.optimizer.optimizer,
        "{} was saved with another --optimizer: give the same one, or --no-load-optim", c.path);
  const json state = parse_state(c);
  progress_ = read_progress(c, state);
  if (t.no_load_optim) progress_.state.optimizer_steps = 0;
  schedules_ = choose_schedules(options, state.contains("schedules") ? state["schedules"] : json(), c.path);
  if (c.format != CkptFormat::native) return;  // Megatron's arguments say too little about the rest
  const std::string changed = changed_settings(options, stored);
  if (!changed.empty()) log::warn("{} was saved with other settings, the run goes on with these: {}", c.path, changed);
}

void RunStart::fill(ModelState& model) const {
  if (hub_) {
    read_hf_weights(load_, model);
    log::say("  successfully loaded weights from {}", load_);
  } else if (checkpoint_) {
    read_tensors(*checkpoint_, model, with_optimizer_);
    log::say("  successfully loaded checkpoint from {} [ t 1/1, p 1/1 ] at iteration {}", load_,
             checkpoint_->manifest.iteration);
  } else {
    model.initialise(seed_);
  }
}

void load_weights(const std::string& dir, i64 iteration, ModelState& model) {
  if (is_hf_directory(dir)) return read_hf_weights(dir, model);
  read_tensors(open_any_checkpoint(dir, open_options(iteration)), model, false);
}

StoredModel read_stored_model(const std::string& dir, i64 iteration) {
  check(is_loadable(dir), "--load {}: neither a checkpoint nor a Hugging Face model (config.json) is there", dir);
  if (is_hf_directory(dir)) return {read_hf_config(dir).model, {}};
  AnyOpenOptions open = open_options(iteration);
  open.verify = false;  // whoever loads the weights verifies them
  const AnyCheckpoint c = open_any_checkpoint(dir, open);
  const Options stored = stored_options(c);
  return {*c.model, stored.tokenizer};
}

bool is_loadable(const std::string& dir) {
  check(!fs::exists(dir) || fs::is_directory(dir), "--load {}: this is a file, want a directory", dir);
  return find_ckpt_format(dir).has_value();
}

}  // namespace megalith
