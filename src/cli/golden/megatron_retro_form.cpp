#include "cli/golden/megatron_retro_form.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/golden/golden_file.h"
#include "cli/golden/held_model.h"
#include "cli/golden/megatron_case.h"
#include "cli/golden/megatron_weights.h"
#include "cli/golden/report.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"

namespace megalith {
namespace {

constexpr int kRetroSteps = 10;
constexpr Bounds kRetroBounds = kF32Bounds;

// text [b,s+1]: a token's label is the next token. All count.
Batch retro_batch(GoldenFile& golden, int i) {
  const std::string at = fmt::format("batch{}.", i);
  const Shape& shape = golden.shape(at + "text");
  Batch b;
  b.sequences = shape.at(0), b.seq_length = shape.at(1) - 1;
  const std::vector<i32> text = golden.ints(at + "text");
  for (i64 r = 0; r < b.sequences; ++r) {
    b.longs("rows").push_back(r);
    for (i64 s = 0; s < b.seq_length; ++s) {
      const size_t from = size_t(r * shape[1] + s);
      b.ints("tokens").push_back(text.at(from)), b.ints("labels").push_back(text.at(from + 1));
      b.ints("position_ids").push_back(i32(s)), b.floats("loss_mask").push_back(1);
    }
  }
  b.ints("neighbor_tokens") = golden.ints(at + "neighbor_tokens");
  return b;
}

// Cross entropies of logits [b,s,v].
std::vector<float> losses_of(const std::vector<float>& logits, const std::vector<i32>& labels) {
  const size_t v = logits.size() / labels.size();
  std::vector<float> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    double sum = 0;
    for (size_t k = 0; k < v; ++k) sum += std::exp(double(logits[i * v + k]));
    out.push_back(float(std::log(sum) - double(logits[i * v + size_t(labels[i])])));
  }
  return out;
}

// The gradient of a key's bias is 0 in exact arithmetic, and Adam makes steps of its rounding.
bool has_bias_of_keys(const std::string& name) {
  return name.ends_with("linear_qkv.bias") || name.ends_with("linear_kv.bias");
}

class RetroForm {
 public:
  RetroForm(const std::string& dir, const Backend& backend)
      : dir_(dir),
        case_(read_encoder_case(dir)),
        golden_(dir),
        names_(dir + "/weights.safetensors", case_.model),
        first_(retro_batch(golden_, 0)),
        model_(backend, {.model = case_.model,
                         .optimizer = case_.optimizer,
                         .batch = first_.sequences,
                         .precision = precision_of(case_.model, DType::f32)}) {
    names_.load(model_.state());
  }

  bool run() {
    fmt::print("{}: RETRO ({} parameters)\n", dir_, names_.mapping().theirs.size());
    forward();
    gradients();
    train();
    weights_after();
    for (const std::string& name : golden_.unread()) report_.lacks(name);
    return report_.ok();
  }

 private:
  void forward() {
    model_.run("evaluate", first_, true);
    const std::vector<float> logits = model_.logits("evaluate", case_.model.vocab_size);
    report_.line("logits", relative(logits, golden_.floats("logits")), kRetroBounds.logits);
    report_.line("losses of tokens",
                 relative(losses_of(logits, first_.ints("labels")), golden_.floats("per_token_loss")),
                 kRetroBounds.loss);
    const double loss = model_.scalars("evaluate", "loss")[0] / model_.scalars("evaluate", "tokens")[0];
    for (const char* name : {"loss", "lm_loss"})
      report_.line(name, std::abs(loss - golden_.floats(name)[0]), kRetroBounds.loss);
  }

  void gradients() {
    model_.run("micro-batch", first_, true);
    const double scale = 1 / double(first_.sequences * first_.seq_length);
    for (const std::string& name : golden_.names("grad.")) {
      const auto theirs = names_.find(name);
      if (!theirs) continue;  // reported as missing
      report_.line("gradient " + name,
                   relative(model_.gradient(names_.mapping(), *theirs, scale), golden_.floats("grad." + name)),
                   kRetroBounds.gradient);
    }
  }

  void train() {
    const auto losses = golden_.floats("train.losses"), norms = golden_.floats("train.grad_norms");
    for (int i = 0; i < kRetroSteps; ++i) {
      model_.write_rates(i + 1);
      model_.run("last-micro-batch", retro_batch(golden_, i), true);
      const auto scalars = model_.scalars("last-micro-batch", "step");
      report_.line(fmt::format("step {} loss", i + 1), std::abs(scalars[step_scalar::kLoss] - losses.at(size_t(i))),
                   kRetroBounds.train_loss);
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms.at(size_t(i)) - 1), kRetroBounds.norm);
    }
  }

  // Whole vectors, and the sum of squares of every parameter.
  void weights_after() {
    const std::vector<float> sums = golden_.floats("after10.sumsq");
    for (size_t i = 0; i < case_.squares_order.size(); ++i) {
      const auto index = names_.find(case_.squares_order[i]);
      if (!index || has_bias_of_keys(case_.squares_order[i])) continue;
      double sum = 0;
      for (const float x : model_.weight(names_.mapping(), *index)) sum += double(x) * x;
      report_.line("after ten steps squares of " + case_.squares_order[i], std::abs(sum / sums.at(i) - 1),
                   kRetroBounds.gradient);
    }
    for (const std::string& name : golden_.names("after10.")) {
      const auto index = names_.find(name);
      if (name == "sumsq" || (index && has_bias_of_keys(name))) golden_.skip("after10." + name);
      if (!index || has_bias_of_keys(name)) continue;
      report_.line("after ten steps " + name,
                   relative(model_.weight(names_.mapping(), *index), golden_.floats("after10." + name)),
                   kRetroBounds.gradient);
    }
  }

  std::string dir_;
  EncoderCase case_;
  GoldenFile golden_;
  MegatronNames names_;
  Batch first_;
  HeldModel model_;
  Report report_;
};

}  // namespace

bool holds_megatron_retro(const std::string& dir, const Backend& backend) { return RetroForm(dir, backend).run(); }

}  // namespace megalith
