// golden-check DIR: holds our model against one made by Hugging Face transformers and PyTorch. DIR has the model
// (config.json, model.safetensors) and golden.safetensors: batches, logits, loss, every gradient, ten AdamW steps (lr
// 1e-3, betas 0.9 0.95, eps 1e-8, weight decay 0.1 on matrices, clip 1.0). One line a quantity with its error; exit 0
// only if all are within their bounds. --device cpu|cuda; --bf16 computes in bf16, within wider bounds.
#include <cmath>
#include <cstring>

#include "base/one_line.h"
#include "ckpt/hf/hf_mapping.h"
#include "ckpt/hf/hf_weights.h"
#include "cli/own_flags.h"
#include "config/field.h"
#include "device/make_backend.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "passes/gradients.h"
#include "resume/checkpointing.h"
#include "step/feed.h"
#include "step/model_state.h"

namespace megalith {
namespace {

constexpr int kSteps = 10;

struct Flags {
  bool bf16 = false;
  DeviceOptions device;
};

void list_fields(Flags& c, config::FieldList& f) {
  f.group("Golden check: golden-check DIR [flags]");
  f.add("bf16", c.bf16, "Compute in bf16.");
  list_fields(c.device, f);
}

// Largest errors: of the logits relative to their size, of the loss, of each gradient relative to its size, of the
// losses and the relative gradient norms of the training steps.
struct Bounds {
  double logits, loss, gradient, train_loss, norm;
};
constexpr Bounds kF32 = {1e-5, 1e-5, 1e-4, 1e-4, 1e-4};

// A bf16 number is off by at most u = 2^-8 of itself (half of epsilon, 2^-7), u / sqrt(3) in the quadratic mean. A
// logit has behind it about 15 roundings a layer (weights, norms, products, attention, activation, residuals) and 5
// around the layers; independent, they add up in squares: sqrt(n) u / sqrt(3), and sqrt(3) of margin leave sqrt(n) u. A
// gradient goes the way twice, forth and back. Losses and norms are means, over the batch's tokens at least: signs
// cancel, and four times the error of a mean of independent ones is left for those that are not.
Bounds bf16_bounds(const ModelConfig& m, i64 tokens) {
  const double logits = 0x1p-8 * std::sqrt(15.0 * double(m.num_layers) + 5),
               mean = 4 * logits / std::sqrt(double(tokens));
  return {logits, mean, 2 * logits, mean, mean};
}

class Report {
 public:
  void line(const std::string& quantity, double error, double bound) {
    const bool ok = error <= bound;  // false for NaN
    ok_ &= ok;
    fmt::print("{}  {:<64} error {:.3e}  bound {:.0e}\n", ok ? "pass" : "FAIL", quantity, error, bound);
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

double relative(const std::vector<float>& a, const std::vector<float>& b) {  // |a - b| / |b|
  double diff = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) diff += std::pow(double(a[i]) - b[i], 2), norm += double(b[i]) * b[i];
  return norm > 0 ? std::sqrt(diff / norm) : std::sqrt(diff);
}

Batch read_batch(const TensorFiles& golden, int i) {
  auto ids = [&](const std::string& what) {
    const TensorInfo& t = golden.at(fmt::format("batch{}.{}", i, what));
    check(t.dtype() == DType::i32, "{} is {}, want I32", t.name, t.stored_type);
    std::vector<i32> out(size_t(count(t.shape)));
    std::memcpy(out.data(), golden.read(t).data(), out.size() * sizeof(i32));
    return out;
  };
  Batch b;
  const Shape shape = golden.at(fmt::format("batch{}.input_ids", i)).shape;
  b.sequences = shape.at(0), b.seq_length = shape.at(1);
  b.ints("tokens") = ids("input_ids"), b.ints("labels") = ids("targets");
  b.floats("loss_mask").assign(b.ints("tokens").size(), 1.0f);
  for (i64 k = 0; k < i64(b.ints("tokens").size()); ++k) b.ints("position_ids").push_back(i32(k % b.seq_length));
  for (i64 r = 0; r < b.sequences; ++r) b.longs("rows").push_back(r);
  return b;
}

OptimizerConfig golden_optimizer() {
  OptimizerConfig c;
  c.lr = 1e-3, c.weight_decay = 0.1, c.clip_grad = 1.0;
  config::FieldList fields = config::fields_of(c);
  fields.find("adam-beta2")->set({"0.95"}, "adam-beta2");
  return c;
}

class GoldenCheck {
 public:
  GoldenCheck(const std::string& dir, const Flags& flags)
      : dir_(dir),
        golden_(TensorFiles::open_file(dir + "/golden.safetensors")),
        hf_(read_hf_config(dir)),
        backend_(make_backend(flags.device)) {
    const Batch first = read_batch(golden_, 0);
    const Precision precision = precision_of(hf_.model, flags.bf16 ? DType::bf16 : DType::f32);
    if (precision.activations == DType::bf16) bounds_ = bf16_bounds(hf_.model, first.sequences * first.seq_length);
    StepSpec spec;
    ModelConfig model = hf_.model;
    model.padded_vocab_size = 0;
    model.seq_length = first.seq_length;
    model.resolve();
    spec.model = std::make_shared<Gpt>(model, ParallelStyle{.pack_qkv = true});
    spec.optimizer = golden_optimizer();
    spec.mode.batch = first.sequences;
    spec.mode.precision = precision;
    spec.evaluate = spec.keep_outputs = true;
    spec.passes_off = {"mark-rows"};  // gradients are read as a whole
    step_ = plan_step(spec, *backend_);
    interpreter_ = backend_->make_interpreter(step_.plan, Coord{});
    state_ = std::make_unique<ModelState>(step_, *interpreter_);
    load_weights(dir, 0, *state_);
  }

  bool run() {
    fmt::print("{}: {} ({} parameters)\n", dir_, hf_.family->name, step_.parameters.size());
    forward();
    gradients();
    train();
    return report_.ok();
  }

 private:
  int program(const std::string& name) const { return int(&step_.plan.program(name) - step_.plan.programs.data()); }

  std::vector<float> read_logits(int program, const Type& type) const {
    std::vector<float> out(size_t(type.elements()));
    if (type.dtype == DType::f32) {
      interpreter_->read_output(program, "logits", out.data());
      return out;
    }
    check(type.dtype == DType::bf16, "logits are {}, want f32 or bf16", name_of(type.dtype));
    std::vector<bf16> narrow(out.size());
    interpreter_->read_output(program, "logits", narrow.data());
    return {narrow.begin(), narrow.end()};
  }

  void forward() {
    const Batch batch = read_batch(golden_, 0);
    Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(batch);
    const int p = program("evaluate");
    interpreter_->run(p, true);
    const i64 V = golden_.at("logits").shape.at(2), S = batch.seq_length, B = batch.sequences;
    const Program& prog = step_.plan.programs[p];
    const Type type = prog.buffers[prog.outputs.at("logits")].type;
    const std::vector<float> ours = read_logits(p, type);
    std::vector<float> picked;
    for (i64 b = 0; b < B; ++b)
      for (i64 s = 0; s < S; ++s)
        for (i64 v = 0; v < V; ++v) picked.push_back(ours[size_t((s * B + b) * type.dim(2) + v)]);
    report_.line("logits", relative(picked, golden_.read_f32("logits")), bounds_.logits);
    const double loss = interpreter_->scalars(p, "loss")[0] / interpreter_->scalars(p, "tokens")[0];
    report_.line("loss", std::abs(loss - golden_.read_f32("loss")[0]), bounds_.loss);
  }

  // Our gradients, packed into the tensors of the Hugging Face files by the same mapping as the weights: q, k and v of
  // a fused weight are one quantity there (the key bias alone, whose exact gradient is zero without rope, would be
  // rounding noise against rounding noise).
  void gradients() {
    interpreter_->run(program("micro-batch"), true);
    const double tokens = double(step_.plan.leaf("tokens").type.elements());
    const HfMapping mapping = hf_parameter_mapping(*hf_.family, hf_.model);
    for (size_t i = 0; i < mapping.theirs.size(); ++i) {
      const NamedShape& theirs = mapping.theirs[i];
      std::vector<float> packed(size_t(count(theirs.shape)));
      for (const TensorLink& link : mapping.links) {
        if (link.theirs != i) continue;
        const Leaf& leaf = step_.plan.leaf(gradient_name(mapping.ours[link.ours].name));
        std::vector<float> ours(size_t(leaf.type.elements()));
        interpreter_->read(leaf, ours.data());
        for (float& x : ours) x = float(x / tokens);
        pack(link.block, DType::f32, ours.data(), reinterpret_cast<std::byte*>(packed.data()));
      }
      report_.line("gradient " + theirs.name, relative(packed, golden_gradient(mapping, theirs.name)),
                   bounds_.gradient);
    }
  }

  std::vector<float> golden_gradient(const HfMapping& mapping, const std::string& name) const {
    for (const std::string& spelling : spellings(mapping, name))
      if (golden_.find("grad." + spelling)) return golden_.read_f32("grad." + spelling);
    fail("golden.safetensors has no gradient of {}", name);
  }

  void train() {
    Feed feed(step_.plan, step_.inputs, *interpreter_, Coord{});
    const auto losses = golden_.read_f32("train.losses"), norms = golden_.read_f32("train.grad_norms");
    const OptimizerConfig c = golden_optimizer();
    for (int i = 0; i < kSteps; ++i) {
      feed(read_batch(golden_, i));
      std::vector<double> h = {c.lr, c.weight_decay, 0, 0};
      c.chosen().write_scalars(i + 1, h.data() + hyper::kOwn);
      interpreter_->write(step_.plan.leaf("hyper"), h.data());
      interpreter_->run(program("last-micro-batch"), true);
      const auto scalars = interpreter_->scalars(program("last-micro-batch"), "step");
      report_.line(fmt::format("step {} loss", i + 1), std::abs(scalars[step_scalar::kLoss] - losses[i]),
                   bounds_.train_loss);
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms[i] - 1), bounds_.norm);
    }
  }

  std::string dir_;
  TensorFiles golden_;
  HfConfig hf_;
  Bounds bounds_ = kF32;
  std::unique_ptr<Backend> backend_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
  Report report_;
};

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    megalith::check(argc >= 2 && argv[1][0] != '-',
                    "usage: golden-check DIR [--bf16] [--device cpu|cuda] (DIR: config.json, model.safetensors, "
                    "golden.safetensors)");
    megalith::Flags flags;
    if (!megalith::read_flags(flags, argc - 1, argv + 1)) return 0;
    return megalith::GoldenCheck(argv[1], flags).run() ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "golden-check: {}\n", megalith::one_line(e));
    return 2;
  }
}
