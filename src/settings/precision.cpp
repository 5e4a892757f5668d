#include "settings/precision.h"

#include "models/gpt/gpt.h"

namespace megalith {

Precision precision_of(const Options& o) {
  Precision out = precision_of(o.model, o.train.bf16 ? DType::bf16 : DType::f32);
  if (o.parallel.grad_reduce_in_bf16) out.gradient_communication = DType::bf16;
  const OptimizerConfig& c = o.optimizer;
  if (c.main_grads_dtype == GradientDType::bf16) out.gradients = out.gradient_communication = DType::bf16;
  const auto kept_in = [](StateDType t) { return t == StateDType::bf16 ? DType::bf16 : DType::f32; };
  const DType first = kept_in(c.exp_avg_dtype), second = kept_in(c.exp_avg_sq_dtype);
  if (first != out.main_parameters || second != out.main_parameters)
    out.states = {{"exp_avg", first}, {"exp_avg_sq", second}};
  return out;
}

}  // namespace megalith
