#include "settings/precision.h"

#include <cmath>

#include "models/gpt/gpt.h"

namespace megalith {

Precision precision_of(const Options& o) {
  Precision out = precision_of(o.model, o.train.bf16 ? DType::bf16 : o.train.fp16 ? DType::f16 : DType::f32);
  if (o.parallel.grad_reduce_in_bf16) out.gradient_communication = DType::bf16;
  const OptimizerConfig& c = o.optimizer;
  if (c.main_grads_dtype == GradientDType::bf16) out.gradients = out.gradient_communication = DType::bf16;
  const auto kept_in = [](StateDType t) { return t == StateDType::bf16 ? DType::bf16 : DType::f32; };
  const DType first = kept_in(c.exp_avg_dtype), second = kept_in(c.exp_avg_sq_dtype);
  if (first != out.main_parameters || second != out.main_parameters)
    out.states = {{"exp_avg", first}, {"exp_avg_sq", second}};
  return out;
}

// At most as large as a gradient of the mean over a global batch.
static double unit_of(const Options& o) {
  return std::exp2(-std::ceil(std::log2(double(o.train.global_batch_size) * double(o.model.seq_length))));
}

std::optional<LossScaling> loss_scaling_of(const Options& o) {
  const OptimizerConfig& c = o.optimizer;
  if (!o.train.fp16 && !(o.train.bf16 && c.loss_scale)) return std::nullopt;
  const double initial = c.loss_scale != 0 ? c.loss_scale : c.initial_loss_scale;
  return LossScaling{.rule = {float(initial), float(c.min_loss_scale), i32(c.loss_scale_window), i32(c.hysteresis)},
                     .constant = c.loss_scale != 0,
                     .unit = unit_of(o)};
}

}  // namespace megalith
