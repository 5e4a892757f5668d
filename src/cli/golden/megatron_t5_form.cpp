#include "cli/golden/megatron_t5_form.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/golden/golden_file.h"
#include "cli/golden/held_model.h"
#include "cli/golden/megatron_weights.h"
#include "cli/golden/report.h"
#include "cli/golden/t5_batch.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"

namespace megalith {
namespace {

constexpr int kT5Steps = 10;
constexpr Bounds kT5Bounds = kF32Bounds;

// The gradient of a key's bias is 0 in exact arithmetic, and Adam makes steps of its rounding.
bool holds_key_biases(const std::string& name) {
  return name.ends_with("linear_qkv.bias") || name.ends_with("linear_kv.bias");
}

class T5Form {
 public:
  T5Form(const std::string& dir, const Backend& backend)
      : dir_(dir),
        case_(read_encoder_case(dir)),
        golden_(dir),
        names_(dir + "/weights.safetensors", case_.model),
        model_(backend, {.model = case_.model,
                         .optimizer = case_.optimizer,
                         .batch = golden_.shape("batch0.text_enc").at(0),
                         .precision = precision_of(case_.model, DType::f32)}) {
    names_.load(model_.state());
  }

  bool run() {
    fmt::print("{}: Megatron Core, T5 ({} parameters)\n", dir_, names_.mapping().theirs.size());
    forward();
    gradients();
    train();
    weights_after();
    return report_.ok();
  }

 private:
  // Rows of padding attend to other keys there.
  std::vector<float> of_tokens(const std::vector<float>& logits) {
    const std::vector<float> there = golden_.floats("batch0.dec_mask");
    const i64 width = i64(logits.size() / there.size());
    std::vector<float> out;
    for (size_t i = 0; i < there.size(); ++i) {
      const auto row = logits.begin() + i64(i) * width;
      if (there[i] != 0) out.insert(out.end(), row, row + width);
    }
    return out;
  }

  void forward() {
    model_.run("evaluate", megatron_t5_batch(golden_, 0), true);
    report_.line(
        "logits",
        relative(of_tokens(model_.logits("evaluate", case_.model.vocab_size)), of_tokens(golden_.floats("logits"))),
        kT5Bounds.logits);
    tokens_ = model_.scalars("evaluate", "tokens")[0];
    const double loss = model_.scalars("evaluate", "loss")[0] / tokens_;
    report_.line("loss", std::abs(loss - golden_.floats("loss")[0]), kT5Bounds.loss);
  }

  void gradients() {
    model_.run("micro-batch", megatron_t5_batch(golden_, 0), true);
    for (size_t i = 0; i < names_.mapping().theirs.size(); ++i) {
      const std::string& name = names_.mapping().theirs[i].name;
      report_.line("gradient " + name,
                   relative(model_.gradient(names_.mapping(), i, 1 / tokens_), golden_.floats("grad." + name)),
                   kT5Bounds.gradient);
    }
  }

  void train() {
    const auto losses = golden_.floats("train.losses"), norms = golden_.floats("train.grad_norms");
    for (int i = 0; i < kT5Steps; ++i) {
      model_.write_rates(i + 1);
      model_.run("last-micro-batch", megatron_t5_batch(golden_, i), true);
      const auto scalars = model_.scalars("last-micro-batch", "step");
      report_.line(fmt::format("step {} loss", i + 1), std::abs(scalars[step_scalar::kLoss] - losses.at(size_t(i))),
                   kT5Bounds.train_loss);
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms.at(size_t(i)) - 1), kT5Bounds.norm);
    }
  }

  std::vector<float> weight(const std::string& name) {
    const auto index = names_.find(name);
    check(index.has_value(), "our model has no tensor {}", name);
    return model_.weight(names_.mapping(), *index);
  }

  // Whole vectors, and the sum of squares of every parameter.
  void weights_after() {
    for (const std::string& name : golden_.names("after10.")) {
      if (name == "sumsq" || holds_key_biases(name)) continue;
      report_.line("after ten steps " + name, relative(weight(name), golden_.floats("after10." + name)),
                   kT5Bounds.gradient);
    }
    const std::vector<float> sums = golden_.floats("after10.sumsq");
    for (size_t i = 0; i < case_.squares_order.size(); ++i) {
      if (holds_key_biases(case_.squares_order[i])) continue;
      double sum = 0;
      for (const float x : weight(case_.squares_order[i])) sum += double(x) * x;
      report_.line("after ten steps squares of " + case_.squares_order[i], std::abs(sum / sums.at(i) - 1),
                   kT5Bounds.gradient);
    }
  }

  std::string dir_;
  EncoderCase case_;
  GoldenFile golden_;
  MegatronNames names_;
  HeldModel model_;
  double tokens_ = 0;  // of the first batch, in the loss
  Report report_;
};

}  // namespace

bool holds_megatron_t5(const std::string& dir, const Backend& backend) { return T5Form(dir, backend).run(); }

}  // namespace megalith
