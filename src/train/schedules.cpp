#include "train/schedules.h"

#include <algorithm>

namespace megalith {

static TrainLength length(const Options& o) {
  return {o.train.train_iters, o.train.train_samples, o.train.global_batch_size};
}

i64 train_iters(const Options& o, const RunState& start) {
  const TrainConfig& t = o.train;
  if (t.train_iters > 0) return t.train_iters;
  return start.iteration + std::max<i64>(0, t.train_samples - start.consumed_samples) / t.global_batch_size;
}

// 0 in the config stands for "not given".
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
  return {make_lr_schedule(f, length(o)), make_wd_schedule(w, length(o).samples())};
}

RunLength run_length(const Options& o, const RunState& start) {
  RunLength r;
  r.train_iters = train_iters(o, start), r.train_samples = o.train.train_samples;
  r.iteration = start.iteration, r.consumed_samples = start.consumed_samples;
  r.global_batch_size = o.train.global_batch_size;
  if (o.train.eval_interval > 0) r.eval_interval = o.train.eval_interval;
  r.eval_iters = o.train.eval_iters;
  return r;
}

StepSpec step_spec(const Options& o, int stage) {
  StepSpec s;
  s.model = o.model, s.optimizer = o.optimizer;
  s.mesh = mesh_of(o.parallel, o.model), s.style = style_of(o.parallel);
  s.shape.batch = o.train.micro_batch_size * o.parallel.data_parallel_size();
  s.shape.dtype = o.train.bf16 ? DType::bf16 : DType::f32;
  s.shape.position_ids = o.data.reset_position_ids;
  s.shape.document_starts = o.data.reset_attention_mask;
  s.shape.seed = u64(o.train.seed);
  s.recompute = o.recompute;
  s.shard_optimizer = o.parallel.use_distributed_optimizer, s.pool_size = o.parallel.ddp_bucket_size;
  s.traffic = {o.parallel.overlap_grad_reduce, o.parallel.overlap_param_gather, o.parallel.tp_comm_overlap,
               o.parallel.grad_reduce_in_bf16, o.parallel.cp_comm_type == CpCommType::p2p};
  s.evaluate = o.train.eval_iters > 0;
  s.copies_state = o.train.async_save && !o.train.save.empty();
  if (o.train.log_num_zeros_in_grad) s.passes_off.insert("mark-rows");  // gradients are read as a whole
  if (o.parallel.pipeline_model_parallel_size > 1) {
    const i64 at_once = o.train.micro_batch_size * o.parallel.data_parallel_size();
    s.pipeline = pipeline_of(o.parallel, o.model, stage, int(o.train.global_batch_size / at_once));
  }
  return s;
}

}  // namespace megalith
