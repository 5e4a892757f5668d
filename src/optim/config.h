// The user's settings of the optimizer and its schedules. Names and meanings are Megatron's flags.
#pragma once
#include <optional>
#include <string>

#include "base/dtype.h"
#include "optim/optimizers.h"

namespace megalith {

namespace config {
class FieldList;
}

enum class LrDecayStyle { constant, linear, cosine, inverse_square_root, wsd };
enum class WsdDecayStyle { exponential, linear, cosine, minus_sqrt };
enum class WeightDecayIncrStyle { constant, linear, cosine };

// Of optimizer state; fp16 and fp8 are refused.
enum class StateDType { fp32, fp16, bf16, fp8 };
enum class GradientDType { fp32, bf16 };

struct OptimizerConfig {
  i64 optimizer = 0;  // of `all`
  Optimizers all;     // with their own settings
  const Optimizer& chosen() const { return all.at(optimizer); }
  double lr = 0;  // required
  double min_lr = 0;
  // For word embeddings and the output layer, instead of lr and min_lr. Without the second, min_lr is used.
  std::optional<double> decoupled_lr, decoupled_min_lr;

  LrDecayStyle lr_decay_style = LrDecayStyle::linear;
  i64 lr_decay_iters = 0;  // 0: the length of the run
  i64 lr_decay_samples = 0;
  i64 lr_warmup_iters = 0;
  i64 lr_warmup_samples = 0;
  double lr_warmup_fraction = 0;  // of the decay length; 0: by the two above
  double lr_warmup_init = 0;      // the rate that warm-up starts from
  WsdDecayStyle lr_wsd_decay_style = WsdDecayStyle::exponential;
  i64 lr_wsd_decay_iters = 0;  // length of the final decay with WSD
  i64 lr_wsd_decay_samples = 0;

  double weight_decay = 0.01;                                  // of matrices; biases and other vectors have none
  std::optional<double> start_weight_decay, end_weight_decay;  // given exactly with a style that is not constant
  WeightDecayIncrStyle weight_decay_incr_style = WeightDecayIncrStyle::constant;

  double clip_grad = 1;  // largest norm of the gradient; 0: no clipping

  // The factor of the loss for its backward. If the first is not 0 it is constant; else --fp16 uses the rule of
  // quant/loss_scale.h.
  double loss_scale = 0;
  double initial_loss_scale = 0x1p32, min_loss_scale = 1;
  i64 loss_scale_window = 1000, hysteresis = 2;

  // Dtypes of the first moments (means of gradients), the second moments (of their squares), and the gradients.
  StateDType exp_avg_dtype = StateDType::fp32, exp_avg_sq_dtype = StateDType::fp32;
  GradientDType main_grads_dtype = GradientDType::fp32;

  // This fraction of main weights and optimizer state is in host memory, and is updated in windows in device memory.
  // `overlap`: copies in both directions overlap with each other and with the updates.
  bool optimizer_cpu_offload = false;
  double optimizer_offload_fraction = 1;
  bool overlap_cpu_optimizer_d2h_h2d = false;

  // The source of a resumed run's schedule: neither: both must agree; override: these flags; use: the checkpoint.
  bool override_opt_param_scheduler = false;
  bool use_checkpoint_opt_param_scheduler = false;

  bool operator==(const OptimizerConfig&) const = default;
};

void list_fields(OptimizerConfig& c, config::FieldList& f);

}  // namespace megalith
