#include "optim/config.h"

#include "config/field.h"
#include "optim/optimizer.h"

namespace megalith {
namespace {

void list_learning_rate(OptimizerConfig& c, config::FieldList& f) {
  f.group("Learning rate");
  f.add("lr", c.lr, "Highest learning rate (required).");
  f.add("min-lr", c.min_lr, "Learning rate after the decay.");
  f.add("decoupled-lr", c.decoupled_lr, "Highest learning rate of the word embeddings and the output layer.");
  f.add("decoupled-min-lr", c.decoupled_min_lr, "Their learning rate after the decay; default: --min-lr.");
  f.add("lr-decay-style", c.lr_decay_style, {"constant", "linear", "cosine", "inverse-square-root", "WSD"},
        "Shape of the decay.");
  f.add("lr-decay-iters", c.lr_decay_iters, "Iterations to decay over; 0: the full run.").one_of("decay");
  f.add("lr-decay-samples", c.lr_decay_samples, "The same in samples, for runs by --train-samples.").one_of("decay");
  f.add("lr-warmup-iters", c.lr_warmup_iters, "Iterations of linear warm-up.").one_of("warm-up");
  f.add("lr-warmup-samples", c.lr_warmup_samples, "The same in samples, for runs by --train-samples.")
      .one_of("warm-up");
  f.add("lr-warmup-fraction", c.lr_warmup_fraction, "Warm-up as a fraction of the decay length.").one_of("warm-up");
  f.add("lr-warmup-init", c.lr_warmup_init, "Learning rate that warm-up starts from.");
  f.add("lr-wsd-decay-style", c.lr_wsd_decay_style, {"exponential", "linear", "cosine", "minus_sqrt"},
        "Shape of the final decay with WSD.");
  f.add("lr-wsd-decay-iters", c.lr_wsd_decay_iters, "Iterations of the final decay with WSD.").one_of("last decay");
  f.add("lr-wsd-decay-samples", c.lr_wsd_decay_samples, "The same in samples, for runs by --train-samples.")
      .one_of("last decay");
  f.add("override-opt-param-scheduler", c.override_opt_param_scheduler,
        "On resume, these flags replace the checkpoint's schedule.")
      .also(config::Spelling{.flag = "--override-opt_param-scheduler", .constant = "true"});
  f.add("use-checkpoint-opt-param-scheduler", c.use_checkpoint_opt_param_scheduler,
        "On resume, the checkpoint's schedule replaces these flags.")
      .also(config::Spelling{.flag = "--use-checkpoint-opt_param-scheduler", .constant = "true"});
}

void list_loss_scale(OptimizerConfig& c, config::FieldList& f) {
  f.group("Loss scale");
  f.add("loss-scale", c.loss_scale,
        "With --fp16 or --bf16: the loss's gradient is always scaled by this. 0: --fp16 has a dynamic scale.");
  f.add("initial-loss-scale", c.initial_loss_scale, "With --fp16, without --loss-scale: the scale at first.");
  f.add("min-loss-scale", c.min_loss_scale, "The scale never falls below this.")
      .also(config::Spelling{.flag = "--min-scale"});
  f.add("loss-scale-window", c.loss_scale_window, "Steps without overflow until the scale doubles.");
  f.add("hysteresis", c.hysteresis, "Steps with overflow until the scale halves.");
}

}  // namespace

void list_fields(OptimizerConfig& c, config::FieldList& f) {
  list_learning_rate(c, f);
  list_loss_scale(c, f);
  f.group("Optimizer");
  f.add("optimizer",
        config::EnumRef{&c.optimizer, [](const void* m) { return *static_cast<const i64*>(m); },
                        [](void* m, i64 v) { *static_cast<i64*>(m) = v; }, c.all.names()},
        "adam is AdamW: weight decay is decoupled.");
  f.add("weight-decay", c.weight_decay, "Weight decay of matrices; biases and norms have none.");
  f.add("start-weight-decay", c.start_weight_decay, "Weight decay at the start, for a style that is not constant.");
  f.add("end-weight-decay", c.end_weight_decay, "Weight decay at the end, for a style that is not constant.");
  f.add("weight-decay-incr-style", c.weight_decay_incr_style, {"constant", "linear", "cosine"},
        "How the weight decay changes.");
  for (i64 i = 0; i < c.all.size(); ++i) c.all.at(i).list_fields(f);
  f.add("clip-grad", c.clip_grad, "Largest norm of the full gradient; 0: no clipping.");
  f.add("exp-avg-dtype", c.exp_avg_dtype, {"fp32", "fp16", "bf16", "fp8"},
        "Type that first moments are kept in, the momentum of SGD, Lion and Muon too: fp32 or bf16.");
  f.add("exp-avg-sq-dtype", c.exp_avg_sq_dtype, {"fp32", "fp16", "bf16", "fp8"},
        "Type that second moments are kept in: fp32 or bf16.");
  f.add("main-grads-dtype", c.main_grads_dtype, {"fp32", "bf16"},
        "Type of gradients, of their sums over micro-batches and over ranks; bf16 goes with --bf16.");
  f.add("optimizer-cpu-offload", c.optimizer_cpu_offload,
        "Keep main weights and moments in host memory; the GPU updates them window by window.")
      .also(config::Spelling{.flag = "--cpu-offload-optimizer", .constant = "true"});
  f.add("optimizer-offload-fraction", c.optimizer_offload_fraction,
        "Minimum fraction of them, in whole matrices (or buckets of the distributed optimizer). Vectors stay "
        "on the GPU.");
  f.add("overlap-cpu-optimizer-d2h-h2d", c.overlap_cpu_optimizer_d2h_h2d,
        "Overlap transfers of windows in both directions with the updates of others.");
}

}  // namespace megalith
