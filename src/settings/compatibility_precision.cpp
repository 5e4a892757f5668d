// Rules about the precision of what a step keeps.
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

}  // namespace

std::vector<Rule> precision_rules() {
  return {
      {"moments are kept in fp32 or bf16", Topic::run, Action::refuse, kept_moments},
      {"main-grads-dtype bf16 comes with bf16", Topic::run, Action::refuse, narrow_sums},
      {"gradients have one precision", Topic::run, Action::refuse, one_precision_of_gradients},
  };
}

}  // namespace megalith
