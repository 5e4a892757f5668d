#include "train/checkpointing.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "ckpt/hf_weights.h"
#include "config/file.h"

namespace megalith {

namespace {

std::string options_json(Options options) { return config::to_json(config::fields_of(options)); }

std::string state_json(const RunState& s, const Options& o) {
  return nlohmann::json{{"schedule_samples", s.schedule_samples},
                        {"optimizer_steps", s.optimizer_steps},
                        {"skipped_iterations", s.skipped_iterations},
                        {"seed", o.train.seed}}
      .dump(2);
}

RunState read_state(const Checkpoint& c) {
  const auto j = nlohmann::json::parse(c.manifest().state_json, nullptr, false);
  check(j.is_object(), "{}: its training state is not a JSON object", c.path());
  RunState s;
  s.iteration = c.manifest().iteration, s.consumed_samples = c.manifest().consumed_samples;
  auto number = [&](const char* key) {
    check(j.contains(key) && j[key].is_number_integer(), "{}: its training state has no number '{}'", c.path(), key);
    return j[key].get<i64>();
  };
  s.schedule_samples = number("schedule_samples");
  s.optimizer_steps = number("optimizer_steps");
  s.skipped_iterations = number("skipped_iterations");
  return s;
}

bool is_optimizer_tensor(const std::string& name) { return name.starts_with("optimizer."); }

void read_tensors(const Checkpoint& c, ModelState& model, bool with_optimizer) {
  std::vector<NamedShape> expected;
  for (const StateTensor& t : model.tensors())
    if (t.is_weight || with_optimizer) expected.push_back({t.name, t.shape});
  c.check_tensors(expected, [&](const std::string& name) { return !with_optimizer && is_optimizer_tensor(name); });
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    std::vector<float> values(size_t(count(t.shape)));
    c.read(t.name, std::as_writable_bytes(std::span(values)));
    model.write(t, values);
  }
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
    fail("{}: the model has no parameter {}", dir, name);
  });
}

}  // namespace

bool save_run(const Options& options, const ModelState& model, const RunState& state) {
  std::vector<SaveTensor> tensors;
  std::vector<std::vector<float>> copies;  // of memory that the host can't see
  for (const StateTensor& t : model.tensors()) {
    if (options.train.no_save_optim && !t.is_weight) continue;
    const void* data = model.host_view(t);
    if (!data || t.leaf->type.dtype != DType::f32) data = copies.emplace_back(model.read(t)).data();
    tensors.push_back({t.name, t.shape, DType::f32, data});
  }
  const Manifest manifest{state.iteration, state.consumed_samples, options_json(options), state_json(state, options)};
  try {
    save_checkpoint(options.train.save, manifest, tensors, {options.train.most_recent_k, {}});
  } catch (const std::exception& e) {
    log::warn("checkpoint at iteration {} was not saved, training goes on: {}", state.iteration, e.what());
    return false;
  }
  log::say("  successfully saved checkpoint from iteration {:7d} to {}", state.iteration, options.train.save);
  return true;
}

void load_run(const Options& options, ModelState& model, RunState& state) {
  const TrainConfig& t = options.train;
  if (is_hf_directory(t.load)) {
    read_hf_weights(t.load, model);
    log::say("  successfully loaded weights from {}", t.load);
    return;
  }
  const Checkpoint c = open_checkpoint(t.load, open_options(t.ckpt_step));
  const bool weights_only = t.finetune || t.no_load_optim;
  read_tensors(c, model, !weights_only);
  if (!t.finetune) {
    state = read_state(c);
    if (t.no_load_optim) state.optimizer_steps = 0;
  }
  log::say("  successfully loaded checkpoint from {} [ t 1/1, p 1/1 ] at iteration {}", t.load, c.manifest().iteration);
}

void load_weights(const std::string& dir, i64 iteration, ModelState& model) {
  if (is_hf_directory(dir)) return read_hf_weights(dir, model);
  read_tensors(open_checkpoint(dir, open_options(iteration)), model, false);
}

StoredModel read_stored_model(const std::string& dir, i64 iteration) {
  StoredModel out;
  if (is_hf_directory(dir)) {
    out.model = read_hf_config(dir).model;
    return out;
  }
  OpenOptions open = open_options(iteration);
  open.verify = false;  // whoever loads the weights verifies them
  const Checkpoint c = open_checkpoint(dir, open);
  Options stored;
  config::FieldList fields = config::fields_of(stored);
  config::from_json(fields, c.manifest().config_json, c.path() + "/manifest.json");
  out.model = stored.model, out.tokenizer = stored.tokenizer;
  return out;
}

}  // namespace megalith
