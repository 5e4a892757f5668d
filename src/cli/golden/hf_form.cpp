#include "cli/golden/hf_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ckpt/hf/hf_mapping.h"
#include "ckpt/hf/hf_token_ids.h"
#include "ckpt/hf/hf_weights.h"
#include "cli/golden/bert_batch.h"
#include "cli/golden/golden_file.h"
#include "cli/golden/held_model.h"
#include "cli/golden/report.h"
#include "cli/golden/t5_batch.h"
#include "config/field.h"
#include "models/bert/bert.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"
#include "resume/stored_model.h"

namespace megalith {
namespace {

constexpr int kHfSteps = 10;

// A number is off by at most u of itself (bf16: 2^-8, half of epsilon; f16: 2^-11), and by u / sqrt(3) in the root
// mean square. A logit results from n roundings: about 15 a layer (weights, norms, products, attention, activation,
// residuals) and 5 more. Independent errors add in squares to sqrt(n) u / sqrt(3); the bound is sqrt(n) u, a margin
// of sqrt(3). A gradient passes forward and backward, so it has twice as many. Losses and norms are means over the
// batch's tokens at least, where signs cancel. Their bound is four times the error of a mean of independent errors. A
// decoder layer with cross-attention has half as many roundings more.
Bounds narrow_bounds(DType compute, const ModelConfig& m, i64 tokens) {
  const double layers = double(m.num_layers) + (m.is_t5() ? 1.5 * double(m.t5.decoder_num_layers) : 0);
  const double logits = (compute == DType::bf16 ? 0x1p-8 : 0x1p-11) * std::sqrt(15.0 * layers + 5),
               mean = 4 * logits / std::sqrt(double(tokens));
  return {logits, mean, 2 * logits, mean, mean, logits};
}

OptimizerConfig golden_optimizer() {
  OptimizerConfig c;
  c.lr = 1e-3, c.weight_decay = 0.1, c.clip_grad = 1.0;
  config::FieldList fields = config::fields_of(c);
  fields.find("adam-beta2")->set({"0.95"}, "adam-beta2");
  return c;
}

class HfForm {
 public:
  HfForm(const std::string& dir, DType compute, const Backend& backend)
      : dir_(dir), golden_(dir), hf_(read_hf_config(dir)) {
    const Batch first = batch(0);
    tokens_ = counted_tokens(first);
    HeldSpec spec{.model = hf_.model, .optimizer = golden_optimizer(), .batch = first.sequences};
    spec.precision = precision_of(hf_.model, compute);
    if (compute != DType::f32) bounds_ = narrow_bounds(compute, hf_.model, i64(tokens_));
    spec.model.padded_vocab_size = 0;
    spec.model.moe.router_bias_update_rate = 0;  // transformers leaves it unchanged
    spec.model.seq_length = first.seq_length;
    if (hf_.model.is_t5()) spec.model.t5.decoder_seq_length = golden_.shape("batch0.labels").at(1);
    spec.model.resolve();
    model_ = std::make_unique<HeldModel>(backend, spec);
    load_weights(dir, 0, model_->state());
  }

  bool run() {
    fmt::print("{}: {} ({} parameters)\n", dir_, hf_.family->name, model_->step().parameters.size());
    forward();
    gradients();
    if (is_bert() && any_padding_in_text())
      fmt::print(
          "      the text contains the padding token: transformers gives its lookups no gradient, so steps differ\n");
    else
      train();
    return report_.ok();
  }

 private:
  void forward() {
    model_->run("evaluate", batch(0), true);
    report_.line("logits",
                 relative(model_->logits("evaluate", golden_.shape("logits").at(2)), golden_.floats("logits")),
                 bounds_.logits);
    if (golden_.has("binary_logits"))
      report_.line("binary logits",
                   relative(model_->output("evaluate", "binary_logits"), golden_.floats("binary_logits")),
                   bounds_.logits);
    const auto mean = [&](const std::string& sum, const std::string& weight) {
      return model_->scalars("evaluate", sum)[0] / model_->scalars("evaluate", weight)[0];
    };
    double loss = mean("loss", "tokens");
    if (has_pairs()) loss += mean(std::string(kOrderTerm) + " sum", std::string(kOrderTerm) + " weight");
    report_.line("loss", std::abs(loss - golden_.floats("loss")[0]), bounds_.loss);
  }

  // Our gradients, packed like the weights into the tensors of Hugging Face files: q, k and v of a fused weight are
  // one quantity. A separate key bias would compare rounding noise with rounding noise, because without rope its exact
  // gradient is zero.
  void gradients() {
    const Batch first = batch(0);
    model_->run("micro-batch", first, true);
    const HfMapping mapping = hf_parameter_mapping(*hf_.family, hf_.model);
    double largest = 0;
    for (const NamedShape& t : mapping.theirs) largest = std::max(largest, norm_of(golden_gradient(mapping, t.name)));
    for (size_t i = 0; i < mapping.theirs.size(); ++i) {
      const std::string& name = mapping.theirs[i].name;
      std::vector<float> ours = model_->gradient(mapping, i, 1.0 / tokens_), theirs = golden_gradient(mapping, name);
      if (name == mapping.embedding && drops_padding(first))
        for (auto* gradient : {&ours, &theirs}) drop_row(*gradient, hf_.pad_token_ids[0], hf_.model.hidden_size);
      report_.line("gradient " + name, relative(ours, theirs, is_zero(name) ? kNoise * largest : 0), bounds_.gradient);
    }
  }

  // A key's own bias adds the same to all scores of a query. Its gradient is 0, up to rounding on both sides.
  static bool is_zero(const std::string& name) { return name.ends_with(".self.key.bias"); }
  static constexpr double kNoise = 1e-6;

  bool is_bert() const { return hf_.model.architecture == Architecture::bert; }
  bool has_pairs() const { return is_bert() && hf_.model.bert.binary_head(); }
  Batch batch(int i) {
    const i64 pad = hf_.pad_token_ids.empty() ? 0 : hf_.pad_token_ids[0];
    if (hf_.model.is_t5()) return hf_t5_batch(golden_, i, i32(hf_.decoder_start.value_or(kT5Start)), i32(pad));
    return is_bert() ? hf_bert_batch(golden_, i, has_pairs()) : golden_.batch(i);
  }

  // BERT classes of transformers give no gradient to lookups of the padding's row.
  bool drops_padding(const Batch& first) const {
    return is_bert() && !hf_.pad_token_ids.empty() && has_token(first, hf_.pad_token_ids[0]);
  }
  bool any_padding_in_text() {
    bool any = false;
    for (int i = 0; i < kHfSteps; ++i) any |= drops_padding(batch(i));
    return any;
  }
  static void drop_row(std::vector<float>& values, i64 row, i64 width) {
    values.erase(values.begin() + row * width, values.begin() + (row + 1) * width);
  }
  static double norm_of(const std::vector<float>& values) {
    double squares = 0;
    for (const float x : values) squares += double(x) * x;
    return std::sqrt(squares);
  }

  std::vector<float> golden_gradient(const HfMapping& mapping, const std::string& name) {
    for (const std::string& spelling : spellings(mapping, name))
      if (golden_.has("grad." + spelling)) return golden_.floats("grad." + spelling);
    fail("golden.safetensors has no gradient of {}", name);
  }

  void train() {
    const auto losses = golden_.floats("train.losses"), norms = golden_.floats("train.grad_norms");
    for (int i = 0; i < kHfSteps; ++i) {
      model_->write_rates(i + 1);
      model_->run("last-micro-batch", batch(i), true);
      const auto scalars = model_->scalars("last-micro-batch", "step");
      double loss = scalars[step_scalar::kLoss];
      const std::string pairs = kOrderTerm;
      if (has_pairs()) loss += model_->tallied(pairs + " sum") / model_->tallied(pairs + " weight");
      report_.line(fmt::format("step {} loss", i + 1), std::abs(loss - losses.at(size_t(i))), bounds_.train_loss);
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms.at(size_t(i)) - 1), bounds_.norm);
    }
  }

  std::string dir_;
  GoldenFile golden_;
  HfConfig hf_;
  double tokens_ = 0;  // of a batch, in the loss
  Bounds bounds_ = kF32Bounds;
  std::unique_ptr<HeldModel> model_;
  Report report_;
};

}  // namespace

bool holds_hf(const std::string& dir, DType compute, const Backend& backend) {
  return HfForm(dir, compute, backend).run();
}

}  // namespace megalith
