#include "cli/golden/megatron_form.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/golden/golden_file.h"
#include "cli/golden/held_model.h"
#include "cli/golden/megatron_weights.h"
#include "cli/golden/report.h"
#include "cli/golden/routing.h"
#include "models/gpt/gpt.h"
#include "ops/update.h"

namespace megalith {
namespace {

constexpr int kMegatronSteps = 3;
constexpr Bounds kBounds = kF32Bounds;

std::vector<float> row(const std::vector<float>& values, size_t index, size_t rows) {
  const size_t n = values.size() / rows;
  return {values.begin() + i64(index * n), values.begin() + i64((index + 1) * n)};
}

double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += x;
  return sum;
}

double squares(const std::vector<float>& values) {
  double sum = 0;
  for (const float x : values) sum += double(x) * x;
  return sum;
}

class MegatronForm {
 public:
  MegatronForm(const std::string& dir, const Backend& backend)
      : dir_(dir),
        backend_(backend),
        case_(read_megatron_case(dir)),
        golden_(dir),
        names_(dir + "/model.safetensors", case_.model) {}

  bool run() {
    fmt::print("{}: Megatron Core ({} parameters)\n", dir_, names_.mapping().theirs.size());
    first_step();
    evaluation();
    train();
    for (const std::string& name : golden_.unread()) report_.lacks(name);
    return report_.ok();
  }

 private:
  struct TermSum {
    double sum = 0, weight = 0;
  };

  std::unique_ptr<HeldModel> fresh_model() const {
    const Shape& batch = golden_.shape("batch0.input_ids");
    auto model = std::make_unique<HeldModel>(backend_, HeldSpec{.model = case_.model,
                                                                .optimizer = case_.optimizer,
                                                                .batch = batch.at(0),
                                                                .precision = precision_of(case_.model, DType::f32),
                                                                .training_outputs = true});
    names_.load(model->state());
    return model;
  }

  // Each micro-batch with the initial weights, and the gradients of all together.
  void first_step() {
    const std::unique_ptr<HeldModel> model = fresh_model();
    const size_t M = size_t(case_.micro_batches);
    std::map<std::string, TermSum> before;
    for (size_t m = 0; m < M; ++m) {
      model->run("micro-batch", golden_.batch(int(m)), m == 0);
      if (m == 0) of_one_micro_batch(*model);
      losses(*model, m, before);
    }
    gradients(*model);
  }

  void of_one_micro_batch(const HeldModel& model) {
    report_.line("logits", relative(model.logits("micro-batch", case_.model.vocab_size), golden_.floats("logits")),
                 kBounds.logits);
    for (const std::string& layer : case_.moe_layers) routing(model, layer);
  }

  // A map may have entries that only fill an expert up to its capacity. Their weight is 0.
  void routing(const HeldModel& model, const std::string& layer) {
    const i64 experts = golden_.shape(layer + ".probs").at(1);
    const auto ours = routing_map(model, "micro-batch", layer, experts);
    const auto our_probs = routing_probs(model, "micro-batch", layer, experts);
    if (!ours || !our_probs) return;  // reported as missing
    const std::vector<float> map = golden_.floats(layer + ".map"), probs = golden_.floats(layer + ".probs");
    double differences = std::abs(double(ours->size()) - double(map.size()));
    for (size_t i = 0; i < std::min(map.size(), ours->size()); ++i)
      differences += ((*ours)[i] != 0 && our_probs->at(i) != 0) != (map[i] != 0 && probs[i] != 0);
    report_.exact(layer + " choice", differences);
    report_.line(layer + " weights of the choice", relative(*our_probs, probs), kBounds.logits);
  }

  // The mean that the last micro-batch added to a term's sums.
  static double gained(const TermSum& now, TermSum& before) {
    const double mean = (now.sum - before.sum) / (now.weight - before.weight);
    before = now;
    return mean;
  }

  void losses(const HeldModel& model, size_t m, std::map<std::string, TermSum>& before) {
    const size_t M = size_t(case_.micro_batches);
    const std::vector<std::string>& terms = model.step().terms;
    const double loss = gained({model.sum("loss_sum"), model.sum("token_sum")}, before[terms.at(0)]);
    report_.line(fmt::format("micro-batch {} loss", m), std::abs(loss - golden_.floats("loss").at(m)), kBounds.loss);
    for (size_t i = 1; i < terms.size(); ++i) {
      const std::string& name = terms[i];
      const double mean = gained({model.tallied(name + " sum"), model.tallied(name + " weight")}, before[name]);
      if (const auto theirs = golden_term(name, m, M))
        report_.line(fmt::format("micro-batch {} {}", m, name), std::abs(mean - *theirs), kBounds.loss);
    }
  }

  // The mean of an auxiliary value over the layers with experts, as both programs log it.
  std::optional<double> golden_term(const std::string& name, size_t m, size_t M) {
    if (golden_.has("aux." + name))
      return sum_of(row(golden_.floats("aux." + name), m, M)) / double(case_.moe_layers.size());
    int depth = 0, end = 0;
    if (std::sscanf(name.c_str(), "mtp_%d loss%n", &depth, &end) == 1 && end == int(name.size()) &&
        golden_.has("mtp_loss"))
      return row(golden_.floats("mtp_loss"), m, M).at(size_t(depth) - 1);
    return std::nullopt;
  }

  void gradients(const HeldModel& model) {
    const double scale = 1.0 / model.sum("token_sum");
    double norm = 0;
    for (const std::string& name : golden_.names("grad.")) {
      const auto theirs = names_.find(name);
      if (!theirs) continue;  // reported as missing
      const std::vector<float> ours = model.gradient(names_.mapping(), *theirs, scale);
      norm += squares(ours);
      report_.line("gradient " + name, relative(ours, golden_.floats("grad." + name)), kBounds.gradient);
    }
    if (golden_.has("grad_norm"))
      report_.line("gradient norm", std::abs(std::sqrt(norm) / golden_.floats("grad_norm").at(0) - 1), kBounds.norm);
  }

  // If the router chooses differently in evaluation, the file also has these logits.
  void evaluation() {
    const std::unique_ptr<HeldModel> model = fresh_model();
    model->run("evaluate", golden_.batch(0), true);
    const char* theirs = golden_.has("logits_eval") ? "logits_eval" : "logits";
    report_.line("logits of the evaluation",
                 relative(model->logits("evaluate", case_.model.vocab_size), golden_.floats(theirs)), kBounds.logits);
  }

  void train() {
    const std::unique_ptr<HeldModel> model = fresh_model();
    const int M = case_.micro_batches;
    const auto losses = golden_.floats("train.losses"), norms = golden_.floats("train.grad_norms");
    for (int i = 0; i < kMegatronSteps; ++i) {
      model->write_rates(i + 1);
      std::map<std::string, std::vector<float>> counts;
      for (int m = 0; m < M; ++m) {
        const char* program = m + 1 == M ? "last-micro-batch" : "micro-batch";
        model->run(program, golden_.batch(i * M + m), m == 0);
        if (i == 0) count_tokens(*model, program, counts);
      }
      const auto scalars = model->scalars("last-micro-batch", "step");
      report_.line(fmt::format("step {} loss", i + 1), std::abs(scalars[step_scalar::kLoss] - losses.at(size_t(i))),
                   kBounds.train_loss);
      report_.line(fmt::format("step {} gradient norm", i + 1),
                   std::abs(scalars[step_scalar::kGradNorm] / norms.at(size_t(i)) - 1), kBounds.norm);
      if (i == 0) after_first_step(*model, counts);
    }
    biases(*model, "train.expert_bias");
    weights_after(*model);
  }

  // The number of tokens that chose each expert.
  void count_tokens(const HeldModel& model, const char* program, std::map<std::string, std::vector<float>>& counts) {
    if (!golden_.has("tokens_per_expert")) return;
    const i64 experts = golden_.shape("tokens_per_expert").at(1);
    for (const std::string& layer : case_.moe_layers) {
      const auto map = routing_map(model, program, layer, experts);
      if (!map) continue;
      std::vector<float>& count = counts[layer];
      count.resize(size_t(experts));
      for (size_t i = 0; i < map->size(); ++i) count[i % size_t(experts)] += (*map)[i] != 0 ? 1.0f : 0.0f;
    }
  }

  void after_first_step(const HeldModel& model, const std::map<std::string, std::vector<float>>& counts) {
    const size_t layers = case_.moe_layers.size();
    for (size_t i = 0; i < layers && counts.size() == layers && layers > 0; ++i) {
      const std::vector<float> theirs = row(golden_.floats("tokens_per_expert"), i, layers);
      report_.exact(case_.moe_layers[i] + " tokens of each expert", relative(counts.at(case_.moe_layers[i]), theirs));
    }
    biases(model, "expert_bias_after");
  }

  // "layer1" is decoder.layers.1; "mtp0" is mtp.layers.0.transformer_layer.
  static std::string bias_name(const std::string& layer) {
    if (layer.starts_with("mtp")) return "mtp.layers." + layer.substr(3) + ".transformer_layer.mlp.router.expert_bias";
    return "decoder.layers." + layer.substr(5) + ".mlp.router.expert_bias";
  }

  void biases(const HeldModel& model, const std::string& quantity) {
    if (!golden_.has(quantity)) return;
    for (size_t i = 0; i < case_.moe_layers.size(); ++i) {
      const std::string& layer = case_.moe_layers[i];
      if (!names_.find(bias_name(layer))) return;  // reported as missing
      report_.line(fmt::format("{} {}", layer, quantity),
                   relative(model.tensor(bias_name(layer)), row(golden_.floats(quantity), i, case_.moe_layers.size())),
                   kBounds.weights);
    }
  }

  // Whole vectors, and the sum of squares of every parameter.
  void weights_after(const HeldModel& model) {
    constexpr std::string_view kSquares = "sumsq.";
    for (const std::string& rest : golden_.names("after3.")) {
      const bool summed = rest.starts_with(kSquares);
      const std::string name = summed ? rest.substr(kSquares.size()) : rest;
      const auto index = names_.find(name);
      if (!index) continue;  // reported as missing
      const std::vector<float> ours = model.weight(names_.mapping(), *index), theirs = golden_.floats("after3." + rest);
      const double error = summed ? std::abs(squares(ours) / theirs.at(0) - 1) : relative(ours, theirs);
      report_.line(fmt::format("after three steps {}{}", summed ? "squares of " : "", name), error, kBounds.weights);
    }
  }

  std::string dir_;
  const Backend& backend_;
  MegatronCase case_;
  GoldenFile golden_;
  MegatronNames names_;
  Report report_;
};

}  // namespace

bool holds_megatron(const std::string& dir, const Backend& backend) { return MegatronForm(dir, backend).run(); }

}  // namespace megalith
