// Rules about the precision of what a step keeps.
#include <limits>

#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string kept_moments(const Options& o) {
  std::string lines;
  for (const auto& [flag, dtype] : {std::pair("--exp-avg-dtype", o.optimizer.exp_avg_dtype),
                                    {"--exp-avg-sq-dtype", o.optimizer.exp_avg_sq_dtype}}) {
    if (dtype == StateDType::fp32 || dtype == StateDType::bf16) continue;
    const char* name = dtype == StateDType::fp16 ? "fp16" : "fp8";
    lines += fmt::format("{}{} {} is not built: give bf16 or fp32", lines.empty() ? "" : "\n", flag, name);
  }
  return lines;
}

std::string narrow_sums(const Options& o) {
  if (o.optimizer.main_grads_dtype == GradientDType::fp32 || o.train.bf16) return {};
  return "--main-grads-dtype bf16 takes sums of bf16 products: add --bf16, or leave it out";
}

std::string one_precision_of_gradients(const Options& o) {
  const bool wide = o.given.has("grad-reduce-in-bf16") && !o.parallel.grad_reduce_in_bf16;
  if (o.optimizer.main_grads_dtype == GradientDType::fp32 || !wide) return {};
  return "--main-grads-dtype bf16 and --accumulate-allreduce-grads-in-fp32 contradict each other: give one";
}

std::string one_half_precision(const Options& o) {
  if (!o.train.bf16 || !o.train.fp16) return {};
  return "--fp16 and --bf16 contradict each other: give one";
}

bool is_scale(double x) { return x > 0 && x <= double(std::numeric_limits<float>::max()); }

std::string loss_scales(const Options& o) {
  const OptimizerConfig& c = o.optimizer;
  constexpr i64 kMost = std::numeric_limits<i32>::max();
  if (c.loss_scale && !is_scale(c.loss_scale))
    return fmt::format("--loss-scale {} is no scale: give a positive number, or 0 for a dynamic one", c.loss_scale);
  if (!is_scale(c.initial_loss_scale))
    return fmt::format("--initial-loss-scale {} must be a positive number", c.initial_loss_scale);
  if (!is_scale(c.min_loss_scale))
    return fmt::format("--min-loss-scale {} must be a positive number", c.min_loss_scale);
  if (c.loss_scale_window < 1 || c.loss_scale_window > kMost)
    return fmt::format("--loss-scale-window {}: want 1 to {} steps", c.loss_scale_window, kMost);
  if (c.hysteresis < 1 || c.hysteresis > kMost)
    return fmt::format("--hysteresis {}: want 1 to {} steps", c.hysteresis, kMost);
  return {};
}

std::string unscaled(const Options& o) {
  std::string lines;
  const auto add = [&lines](const std::string& line) { lines += (lines.empty() ? "" : "\n") + line; };
  if (o.optimizer.loss_scale != 0 && !o.train.bf16 && !o.train.fp16)
    add("--loss-scale has no effect without --fp16 or --bf16");
  for (const char* flag : {"initial-loss-scale", "min-loss-scale", "loss-scale-window", "hysteresis"})
    if (o.given.has(flag) && !o.train.fp16) add(fmt::format("--{} has no effect without --fp16", flag));
  return lines;
}

std::string order_of_scales(const Options& o) {
  const OptimizerConfig& c = o.optimizer;
  if (!o.train.fp16 || c.loss_scale || c.initial_loss_scale >= c.min_loss_scale) return {};
  return fmt::format("--initial-loss-scale {} is below --min-loss-scale {}: raise the one or lower the other",
                     c.initial_loss_scale, c.min_loss_scale);
}

}  // namespace

std::vector<Rule> precision_rules() {
  return {
      {"loss scales are positive, the window and the hysteresis 1 at least", Topic::run, Action::refuse, loss_scales,
       true},
      {"fp16 or bf16, not both", Topic::run, Action::refuse, one_half_precision},
      {"the first loss scale is not below the least", Topic::run, Action::refuse, order_of_scales},
      {"loss-scale comes with fp16 or bf16", Topic::run, Action::warn, unscaled},
      {"moments are kept in fp32 or bf16", Topic::run, Action::refuse, kept_moments},
      {"main-grads-dtype bf16 comes with bf16", Topic::run, Action::refuse, narrow_sums},
      {"gradients have one precision", Topic::run, Action::refuse, one_precision_of_gradients},
  };
}

}  // namespace megalith
