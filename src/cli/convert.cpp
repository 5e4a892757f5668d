#include "ckpt/hf_weights.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "config/file.h"
#include "train/checkpointing.h"

namespace megalith {

namespace {

struct ConvertFlags {
  std::string load, save, to, dtype = "f32", family;
  i64 ckpt_step = 0;
};

void list_fields(ConvertFlags& c, config::FieldList& f) {
  f.group("Conversion");
  f.add("load", c.load, "Checkpoint directory or Hugging Face model directory.").shown_as("DIR");
  f.add("save", c.save, "Directory to write.").shown_as("DIR");
  f.add("to", c.to, "hf: a Hugging Face model directory; native: a checkpoint that training starts from.")
      .shown_as("FORMAT");
  f.add("dtype", c.dtype, "Of the weights in a Hugging Face directory: f32, bf16 or f16.");
  f.add("family", c.family,
        "Hugging Face model type (llama, gpt2, ...); default: the first that can express the model.");
  f.add("ckpt-step", c.ckpt_step, "Iteration of the checkpoint; 0: the latest.");
}

DType parse_dtype(const std::string& s) {
  for (DType t : {DType::f32, DType::bf16, DType::f16})
    if (name_of(t) == s) return t;
  fail("--dtype {}: want f32, bf16 or f16", s);
}

struct Weights {
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> values;
};

Weights read_weights(const ConvertFlags& c) {
  Weights w;
  if (is_hf_directory(c.load)) {
    import_hf(c.load, read_hf_config(c.load),
              [&](const std::string& name, const Shape& shape, std::span<const float> v) {
                w.names.push_back(name), w.shapes.push_back(shape), w.values.emplace_back(v.begin(), v.end());
              });
    return w;
  }
  OpenOptions open;
  if (c.ckpt_step > 0) open.iteration = c.ckpt_step;
  const Checkpoint ckpt = open_checkpoint(c.load, open);
  for (const CheckpointTensor& t : ckpt.tensors()) {
    if (t.name.starts_with("optimizer.")) continue;
    w.names.push_back(t.name), w.shapes.push_back(t.shape), w.values.emplace_back(size_t(count(t.shape)));
    ckpt.read(t.name, std::as_writable_bytes(std::span(w.values.back())));
  }
  return w;
}

void write_native(const ConvertFlags& c, const StoredModel& stored, const Weights& w) {
  Options options;
  options.model = stored.model, options.tokenizer = stored.tokenizer;
  std::vector<SaveTensor> tensors;
  for (size_t i = 0; i < w.names.size(); ++i)
    tensors.push_back({w.names[i], w.shapes[i], DType::f32, w.values[i].data()});
  const std::string state = R"({"schedule_samples": 0, "optimizer_steps": 0, "skipped_iterations": 0})";
  save_checkpoint(c.save, {0, 0, config::to_json(config::fields_of(options)), state}, tensors);
}

void write_hf(const ConvertFlags& c, const StoredModel& stored, const Weights& w) {
  HfConfig hf;
  if (is_hf_directory(c.load)) hf = read_hf_config(c.load);
  hf.model = stored.model;
  hf.model.padded_vocab_size = 0;
  if (!c.family.empty())
    hf.family = hf_family(c.family);
  else if (!is_hf_directory(c.load))
    hf.family = choose_hf_family(hf.model);
  hf.dtype = parse_dtype(c.dtype);
  export_hf(c.save, hf, [&](const std::string& name, const Shape& shape, std::span<float> out) {
    for (size_t i = 0; i < w.names.size(); ++i) {
      if (w.names[i] != name) continue;
      check(w.shapes[i] == shape, "{} is {} in {}, the model's is {}", name, to_string(w.shapes[i]), c.load,
            to_string(shape));
      std::copy(w.values[i].begin(), w.values[i].end(), out.begin());
      return;
    }
    fail("{} holds no {}", c.load, name);
  });
}

}  // namespace

int command_convert(int argc, const char* const* argv) {
  ConvertFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  check(!c.load.empty() && !c.save.empty(), "--load and --save are required");
  check(c.to == "hf" || c.to == "native", "--to '{}': want hf or native", c.to);
  const StoredModel stored = read_stored_model(c.load, c.ckpt_step);
  const Weights weights = read_weights(c);
  c.to == "hf" ? write_hf(c, stored, weights) : write_native(c, stored, weights);
  log::say("wrote {} tensors to {}", weights.names.size(), c.save);
  return 0;
}

}  // namespace megalith
