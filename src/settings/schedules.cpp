#include "settings/schedules.h"

#include <algorithm>

#include "models/make_model.h"
#include "optim/optimizer.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"

namespace megalith {

static TrainLength length(const Options& o) {
  return {o.train.train_iters, o.train.train_samples, o.train.global_batch_size};
}

i64 train_iters(const Options& o, const RunState& start) {
  if (o.train.train_iters > 0) return o.train.train_iters;
  return BatchSizes(o).end(o.train, start.iteration, start.consumed_samples).iteration;
}

// 0 in the config means "not given".
template <class T>
static std::optional<T> given(T value) {
  return value > 0 ? std::optional<T>(value) : std::nullopt;
}

Schedules make_schedules(const Options& o) {
  const OptimizerConfig& c = o.optimizer;
  LrFlags f;
  f.decay_style = c.lr_decay_style, f.wsd_decay_style = c.lr_wsd_decay_style;
  f.lr = c.lr, f.min_lr = c.min_lr, f.warmup_init = c.lr_warmup_init;
  f.decay_iters = given(c.lr_decay_iters), f.decay_samples = given(c.lr_decay_samples);
  f.warmup_iters = c.lr_warmup_iters, f.warmup_samples = c.lr_warmup_samples;
  f.warmup_fraction = given(c.lr_warmup_fraction);
  f.wsd_decay_iters = given(c.lr_wsd_decay_iters), f.wsd_decay_samples = given(c.lr_wsd_decay_samples);
  const WdFlags w{c.weight_decay_incr_style, c.weight_decay, c.start_weight_decay, c.end_weight_decay};
  Schedules out{make_lr_schedule(f, length(o)), {}, make_wd_schedule(w, length(o).samples())};
  if (!c.decoupled_lr) return out;
  f.lr = *c.decoupled_lr, f.min_lr = c.decoupled_min_lr.value_or(c.min_lr);
  out.decoupled = make_lr_schedule(f, length(o));
  return out;
}

RunLength run_length(const Options& o, const RunState& start) {
  RunLength r;
  r.train_iters = train_iters(o, start), r.train_samples = o.train.train_samples;
  r.iteration = start.iteration, r.consumed_samples = start.consumed_samples;
  r.global_batch_size = o.train.global_batch_size;
  const BatchSizes sizes(o);
  if (sizes.change() || o.train.decrease_batch_size_if_needed) {
    // As if all steps had the largest size, like Megatron: a resumed run asks for the same number again.
    const i64 end = sizes.end(o.train, start.iteration, start.consumed_samples).consumed;
    const i64 asked = r.train_samples > 0 ? r.train_samples : r.train_iters * sizes.nominal();
    r.train_samples = std::max(asked, end);
  }
  if (o.train.eval_interval > 0) r.eval_interval = o.train.eval_interval;
  r.eval_iters = o.train.eval_iters, r.eval_global_batch_size = o.train.eval_global_batch_size;
  r.start_eval_at_iter = o.train.start_eval_at_iter;
  r.skip_train = o.train.skip_train, r.full_validation = o.train.full_validation;
  return r;
}

static bool keeps_metrics(const TrainConfig& t) {
  return !t.metrics_file.empty() || !t.tensorboard_dir.empty() || !t.observe.wandb_project.empty();
}

StepSpec step_spec(const Options& o, int stage) {
  StepSpec s;
  const GptData data{o.data.reset_position_ids, o.data.reset_attention_mask};
  ParallelStyle style = style_of(o.parallel);
  // With codes q, k and v have separate scales. So the scales are the same if ranks split the heads.
  style.pack_qkv &= o.optimizer.chosen().takes_packed() && !o.quantize.on();
  s.model = make_model(o.model, style, data);
  s.optimizer = o.optimizer;
  s.mesh = mesh_of(o.parallel, o.model);
  s.mode.batch = o.train.micro_batch_size * o.parallel.data_parallel_size();
  s.mode.precision = precision_of(o);
  s.loss_scaling = loss_scaling_of(o);
  s.mode.seed = u64(o.train.seed);
  s.mode.tally_layers = o.train.moe_per_layer_logging;
  s.mode.tally_experts = o.train.log_expert_load || s.mode.tally_layers || o.train.save_tokens_per_expert_interval > 0;
  s.recompute = o.recompute, s.offload = o.offload;
  s.quantize = {o.quantize, o.model.num_layers, s.mode.seed};
  s.shard_optimizer = o.parallel.use_distributed_optimizer, s.bucket_size = o.parallel.ddp_bucket_size;
  s.traffic = {o.parallel.overlap_grad_reduce, o.parallel.overlap_param_gather, o.parallel.tp_comm_overlap,
               o.parallel.cp_comm_type == CpCommType::p2p, o.parallel.moe_shared_expert_overlap};
  s.train = !o.train.skip_train, s.evaluate = o.train.evaluates();
  s.counts_nonzeros = o.train.log_num_zeros_in_grad;
  s.norms = {.weights = o.train.log_params_norm, .states = o.train.log_optimizer_states_to_tensorboard};
  const bool tells = o.train.observe.prometheus_port >= 0 || keeps_metrics(o.train);
  s.tells_amax = o.quantize.is_delayed() && tells, s.tells_counts = o.quantize.on() && tells;
  s.micro_batches = micro_batches(o);
  s.copies_state = o.train.async_save && !o.train.save.empty();
  if (o.train.log_num_zeros_in_grad) s.passes_off.insert("mark-rows");  // gradients are read as a whole
  if (o.parallel.stages() > 1) {
    s.pipeline = pipeline_of(o.parallel, o.model, stage, int(micro_batches(o)));
    const BatchSizes sizes(o);
    for (const i64 size : sizes.from(0))  // others may be before the start of this run
      if (size > 0 && size % sizes.at_once() == 0) s.pipeline.micro_batches.insert(int(size / sizes.at_once()));
  }
  return s;
}

}  // namespace megalith
