#include "cli/golden/encoder_form.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_field.h"
#include "cli/golden/bert_batch.h"
#include "cli/golden/held_model.h"
#include "cli/golden/megatron_case.h"
#include "cli/golden/megatron_retro_form.h"
#include "cli/golden/megatron_t5_form.h"
#include "cli/golden/megatron_weights.h"
#include "cli/golden/report.h"
#include "models/bert/bert.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"

namespace megalith {
namespace {

constexpr int kEncoderSteps = 10;
constexpr Bounds kEncoderBounds = kF32Bounds;

double sum_of_squares(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += double(x) * x;
  return sum;
}

// Of values [b,s,n] each row's first lengths[b] positions.
std::vector<float> real_rows(const std::vector<float>& values, const Batch& batch) {
  const i64 n = i64(values.size()) / (batch.sequences * batch.seq_length);
  std::vector<float> out;
  for (i64 b = 0; b < batch.sequences; ++b) {
    const auto row = values.begin() + b * batch.seq_length * n;
    out.insert(out.end(), row, row + batch.ints("lengths")[size_t(b)] * n);
  }
  return out;
}

// Cross entropies of logits [b,s,v] where the mask is set.
std::vector<float> token_losses(const std::vector<float>& logits, const Batch& batch) {
  const std::vector<float>& mask = batch.floats("loss_mask");
  const size_t v = logits.size() / mask.size();
  std::vector<float> out;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    double sum = 0;
    for (size_t k = 0; k < v; ++k) sum += std::exp(double(logits[i * v + k]));
    out.push_back(float(std::log(sum) - double(logits[i * v + size_t(batch.ints("labels")[i])])));
  }
  return out;
}

class EncoderForm {
 public:
  EncoderForm(const std::string& dir, const Backend& backend)
      : dir_(dir),
        case_(read_encoder_case(dir)),
        golden_(dir),
        names_(dir + "/weights.safetensors", case_.model),
        first_(megatron_bert_batch(golden_, 0)),
        has_pairs_(case_.model.bert.binary_head()),
        model_(backend, {.model = case_.model,
                         .optimizer = case_.optimizer,
                         .batch = first_.sequences,
                         .precision = precision_of(case_.model, DType::f32)}) {
    names_.load(model_.state());
  }

  bool run() {
    fmt::print("{}: Megatron Core ({} parameters)\n", dir_, names_.mapping().theirs.size());
    forward();
    gradients();
    train();
    weights_after();
    golden_.skip("batch");  // for a model without the binary head: is_random
    for (const std::string& name : golden_.unread()) report_.lacks(name);
    return report_.ok();
  }

 private:
  void close(const std::string& quantity, double ours, double theirs, double bound) {
    report_.line(quantity, std::abs(ours - theirs), bound);
  }

  void forward() {
    model_.run("evaluate", first_, true);
    const std::vector<float> logits = model_.logits("evaluate", golden_.shape("logits").at(2));
    report_.line("logits of real tokens",
                 relative(real_rows(logits, first_), real_rows(golden_.floats("logits"), first_)),
                 kEncoderBounds.logits);
    const std::vector<float> each = golden_.floats("per_token_loss");
    std::vector<float> counted;
    for (size_t i = 0; i < each.size(); ++i)
      if (first_.floats("loss_mask")[i] != 0) counted.push_back(each[i]);
    report_.line("losses of tokens", relative(token_losses(logits, first_), counted), kEncoderBounds.loss);
    const auto mean = [&](const std::string& sum, const std::string& weight) {
      return model_.scalars("evaluate", sum)[0] / model_.scalars("evaluate", weight)[0];
    };
    const double lm = mean("loss", "tokens");
    close("lm loss", lm, golden_.floats("lm_loss")[0], kEncoderBounds.loss);
    if (!has_pairs_) return close("loss", lm, golden_.floats("loss")[0], kEncoderBounds.loss);
    const double sop = mean(std::string(kOrderTerm) + " sum", std::string(kOrderTerm) + " weight");
    close(kOrderTerm, sop, golden_.floats("sop_loss")[0], kEncoderBounds.loss);
    close("loss", lm + sop, golden_.floats("loss")[0], kEncoderBounds.loss);
    report_.line("binary logits", relative(model_.output("evaluate", "binary_logits"), golden_.floats("binary_logits")),
                 kEncoderBounds.logits);
  }

  // The gradient of a key's bias is 0 in exact arithmetic, and is part of linear_qkv's.
  void gradients() {
    model_.run("micro-batch", first_, true);
    const double scale = 1 / counted_tokens(first_);
    for (const std::string& name : golden_.names("grad.")) {
      const auto theirs = names_.find(name);
      if (!theirs) continue;  // reported as missing
      report_.line("gradient " + name,
                   relative(model_.gradient(names_.mapping(), *theirs, scale), golden_.floats("grad." + name)),
                   kEncoderBounds.gradient);
    }
  }

  void train() {
    const auto losses = golden_.floats("train.losses"), norms = golden_.floats("train.grad_norms");
    std::vector<float> lm = losses, sop;
    if (has_pairs_) lm = golden_.floats("train.lm_losses"), sop = golden_.floats("train.sop_losses");
    for (int i = 0; i < kEncoderSteps; ++i) {
      model_.write_rates(i + 1);
      model_.run("last-micro-batch", megatron_bert_batch(golden_, i), true);
      const auto scalars = model_.scalars("last-micro-batch", "step");
      const size_t at = size_t(i);
      close(fmt::format("step {} lm loss", i + 1), scalars[step_scalar::kLoss], lm.at(at), kEncoderBounds.train_loss);
      if (has_pairs_) {
        const std::string name = kOrderTerm;
        const double mean = model_.tallied(name + " sum") / model_.tallied(name + " weight");
        close(fmt::format("step {} {}", i + 1, name), mean, sop.at(at), kEncoderBounds.train_loss);
        close(fmt::format("step {} loss", i + 1), scalars[step_scalar::kLoss] + mean, losses.at(at),
              kEncoderBounds.train_loss);
      }
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms.at(at) - 1), kEncoderBounds.norm);
    }
  }

  // Adam divides a gradient by its own size. If the gradient is rounding noise, so is the step. A key's bias without
  // rope is such a case: it adds the same to all scores of a query.
  bool is_rounding(const std::string& name) const {
    return name.ends_with("linear_qkv.bias") &&
           case_.model.position_embedding_type == PositionEmbedding::learned_absolute;
  }

  void weights_after() {
    const std::vector<float> squares = golden_.floats("after10.sumsq");
    for (size_t i = 0; i < case_.squares_order.size(); ++i) {
      const auto index = names_.find(case_.squares_order[i]);
      if (!index || is_rounding(case_.squares_order[i])) continue;
      report_.line("after ten steps squares of " + case_.squares_order[i],
                   std::abs(sum_of_squares(model_.weight(names_.mapping(), *index)) / squares.at(i) - 1),
                   kEncoderBounds.gradient);
    }
    for (const std::string& name : golden_.names("after10.")) {
      const auto index = names_.find(name);
      if (!index || is_rounding(name)) {
        golden_.skip("after10." + name);
        continue;
      }
      report_.line("after ten steps " + name,
                   relative(model_.weight(names_.mapping(), *index), golden_.floats("after10." + name)),
                   kEncoderBounds.gradient);
    }
  }

  std::string dir_;
  EncoderCase case_;
  GoldenFile golden_;
  MegatronNames names_;
  Batch first_;
  bool has_pairs_;
  HeldModel model_;
  Report report_;
};

}  // namespace

bool holds_encoder(const std::string& dir, const Backend& backend) {
  const ModelConfig model = read_encoder_case(dir).model;
  if (model.is_t5()) return holds_megatron_t5(dir, backend);
  return model.is_retro() ? holds_megatron_retro(dir, backend) : EncoderForm(dir, backend).run();
}

}  // namespace megalith
