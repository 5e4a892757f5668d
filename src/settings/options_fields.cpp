// The field lists of a run, and the list of all of them.
#include <charconv>

#include "config/field.h"
#include "settings/options.h"
#include "settings/options_fields_run.h"

namespace megalith {
namespace {

void list_run(TrainConfig& c, config::FieldList& f) {
  f.group("Run");
  f.add("micro-batch-size", c.micro_batch_size, "Sequences in one forward and backward pass (required).");
  f.add("global-batch-size", c.global_batch_size, "Sequences in one update; 0: micro-batch-size x data-parallel size.");
  list_growing_batches(c, f);
  f.add("train-iters", c.train_iters, "Iterations to train for (this or --train-samples is required).")
      .one_of("length");
  f.add("train-samples", c.train_samples, "Sequences to train for, instead of --train-iters.").one_of("length");
  f.add("exit-interval", c.exit_interval, "Save and stop after an iteration that is a multiple of this; 0: never.");
  f.add("exit-duration-in-mins", c.exit_duration_in_mins, "Save and stop after this many minutes; 0: never.");
  f.add("exit-signal", c.exit_signal, {"SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"},
        "Signal that saves and stops after the step. SIGTERM and SIGINT always do, and SIGUSR2, always with exit code "
        "85. SIGUSR1 saves and continues.");
  list_evaluation(c, f);
  f.add("seed", c.seed, "Seed of initial weights, dropout and sample order.");
  f.add("bf16", c.bf16, "Compute in bf16; main parameters, moments and gradients stay f32.");
  f.add("fp16", c.fp16, "Compute in fp16 with a scaled loss; main parameters, moments and gradients stay f32.");
  list_fields(c.device, f);
  f.add_on("check-for-nan-in-loss-and-grad", c.check_for_nan_in_loss_and_grad,
           "Do not look for NaN in loss and gradients.")
      .means("--no-check-for-nan-in-loss", "false");
  f.add("max-skipped-iterations-in-a-row", c.max_skipped_in_a_row,
        "End with an error after this many consecutive iterations with a non-finite loss or gradient, or if weights "
        "are not finite; 0: continue. Not in Megatron.");
  list_incidents(c, f);
  list_doubts(c, f);
  list_faults(c, f);
  f.add("dry-run", c.dry_run,
        "Print the plan (memory, flops, parameters) and exit; allocates nothing. Not in Megatron.");
  f.add("print-graph", c.print_graph, "Print the graph of a step. Not in Megatron.");
  f.add("print-plan", c.print_plan, "Print the planned step, and the time of each pass. Not in Megatron.");
}

std::string number_or_auto(std::string_view text) {
  return text == "auto" ? std::to_string(kAutoSaveInterval) : std::string(text);
}

void list_checkpoints(TrainConfig& c, config::FieldList& f) {
  f.group("Checkpoints");
  f.add("save", c.save, "Directory to save checkpoints to.").shown_as("DIR");
  f.add("load", c.load,
        "Directory to load from: checkpoints (ours, Megatron's torch_dist and torch), or a Hugging Face model; the "
        "format is detected.")
      .shown_as("DIR");
  f.add("ckpt-format", c.ckpt_format, {"native", "torch_dist", "torch"},
        "Format of saved checkpoints: our own, or Megatron's torch_dist. torch is read only; saves are then native.")
      .there_is("torch_dist");
  f.add("save-interval", c.save_interval,
        "Iterations between saves; the end saves too. auto: the cheapest spacing by Daly's formula, from the run's "
        "times of saves and steps, and --gpu-mtbf-hours.")
      .spellings.front()
      .convert = number_or_auto;
  f.add("gpu-mtbf-hours", c.gpu_mtbf_hours,
        "Hours between two failures of one GPU, for --save-interval auto and `megalith plan`. The default is Llama "
        "3's: 419 failures of 16,384 GPUs in 54 days. Not in Megatron.");
  f.add("save-retain-interval", c.save_retain_interval, "Keep only multiples of this and the latest; 0: keep all.");
  f.add("most-recent-k", c.most_recent_k, "Keep only this many newest checkpoints; 0: keep all.");
  f.add("async-save", c.async_save,
        "Write checkpoints during training, which waits only until the state is copied to the host's memory.");
  f.add_on("ckpt-fully-parallel-save", c.ckpt_fully_parallel_save,
           "The first of the ranks that hold the same state writes all of it, instead of a part each.");
  f.add("dist-ckpt-workers", c.dist_ckpt_workers, "Threads of each rank that write checkpoints, each its own file.")
      .there_is("1");
  f.add("non-persistent-save-interval", c.non_persistent_save_interval,
        "Iterations between non-persistent checkpoints, of which only the latest is kept; 0: none.");
  f.add("non-persistent-ckpt-type", c.non_persistent_ckpt_type, {"none", "global", "local"},
        "Where they are: one directory for all ranks (global), or a disk of each rank's host (local, only for"
        " the same layout).");
  f.add("non-persistent-global-ckpt-dir", c.non_persistent_global_ckpt_dir,
        "Directory of global ones; default: non_persistent under --save.")
      .shown_as("DIR");
  f.add("non-persistent-local-ckpt-dir", c.non_persistent_local_ckpt_dir, "Directory of local ones, on each host.")
      .shown_as("DIR");
  f.add("ckpt-step", c.ckpt_step, "Iteration to load; 0: the latest.");
  f.add("finetune", c.finetune, "Load weights only and start from iteration 0.");
  f.add("moe-use-upcycling", c.moe_use_upcycling,
        "Load the weights of a dense model, and make each expert a copy of its MLP, from iteration 0.");
  f.add("moe-upcycling-granularity", c.moe_upcycling_granularity,
        "With --moe-use-upcycling: number of parts of the MLP's width; each expert gets one part.");
  f.add("no-load-optim", c.no_load_optim, "Do not load the optimizer's state.");
  f.add("no-load-rng", c.no_load_rng,
        "Without effect here: random numbers follow from --seed and the iteration, and no state of them is kept.");
  f.add("no-save-optim", c.no_save_optim, "Do not save the optimizer's state.");
  f.add("no-save-rng", c.no_save_rng, "Without effect here, see --no-load-rng.");
  f.add("exit-on-missing-checkpoint", c.exit_on_missing_checkpoint,
        "Fail if --load exists, or is --save, and has no checkpoint, instead of starting from iteration 0.");
}

// Python's levels; the field reports values that are no numbers.
std::string log_level_of_number(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::string(text);
  return n <= 10 ? "debug" : n <= 20 ? "info" : n <= 30 ? "warning" : "error";
}

void list_logging(TrainConfig& c, config::FieldList& f) {
  f.group("Logging");
  f.add("log-level", c.log_level, {"debug", "info", "warning", "error"},
        "Log level: debug adds all arguments and the plan's table; warning omits the lines of the start, error also "
        "the warnings. Not in Megatron.")
      .also(config::Spelling{.flag = "--logging-level",
                             .convert = log_level_of_number,
                             .help = "Megatron's form, Python's numbers: 10 debug, 20 info, 30 warning, 40 error",
                             .metavar = "N"});
  f.add("log-interval", c.log_interval, "Iterations between lines of the log.");
  f.add("log-throughput", c.log_throughput,
        "Print model TFLOP/s (causal attention at half of its square), tokens/s and MFU too.");
  f.add("log-params-norm", c.log_params_norm, "Print the norm of the parameters too.");
  f.add("log-num-zeros-in-grad", c.log_num_zeros_in_grad, "Print the number of zeros in the gradient too.");
  f.add("log-expert-load", c.log_expert_load,
        "Print how many tokens the fullest expert and the fullest rank have, over the mean. Not in Megatron.");
  f.add("moe-per-layer-logging", c.moe_per_layer_logging,
        "Write the router's losses and the load of experts of each layer to TensorBoard and the metrics file too.");
  f.add("save-tokens-per-expert-interval", c.save_tokens_per_expert_interval,
        "Iterations between files with the tokens of each expert of each layer, under --save; 0: none.");
  f.add("log-straggler", c.log_straggler,
        "Name the slowest and the fastest ranks too, by the time that each computes without waiting for others.");
  f.add("straggler-minmax-count", c.straggler_minmax_count, "Number of slowest and of fastest ranks that are named.");
  f.add("disable-straggler-on-startup", c.disable_straggler_on_startup,
        "Leave --log-straggler off; there is no port to switch it on later.");
  list_timing(c, f);
  f.add("profile", c.profile,
        "Let a profiler (nsys --capture-range=cudaProfilerApi) record some steps on a GPU, with a range for each op.");
  f.add("profile-step-start", c.profile_step_start, "Iterations that are done when the profiler starts.");
  f.add("profile-step-end", c.profile_step_end, "The last iteration that is profiled.");
  f.add_on("progress", c.progress, "No live progress line on a terminal. Not in Megatron.");
  f.add("tensorboard-dir", c.tensorboard_dir, "Directory of TensorBoard files.").shown_as("DIR");
  f.add("tensorboard-log-interval", c.tensorboard_log_interval, "Iterations between writes to TensorBoard.");
  list_tensorboard(c, f);
  f.add("metrics-file", c.metrics_file, "File of one JSON object for each logged iteration. Not in Megatron.")
      .shown_as("FILE");
}

}  // namespace

void list_fields(TrainConfig& c, config::FieldList& f) {
  list_run(c, f);
  list_checkpoints(c, f);
  list_logging(c, f);
  list_fields(c.observe, f);
}

void list_fields(DeviceOptions& c, config::FieldList& f) {
  f.add("device", c.device,
        "Device of the computation: auto (a GPU if there is one), cpu or cuda. With --dry-run also a GPU that"
        " this machine lacks: h100, h200, or a file of facts from `megalith calibrate`. Not in Megatron.");
  f.add("cpu-kernels", c.cpu_kernels, {"auto", "avx512", "baseline"},
        "Set of CPU kernels, in a build for other machines: by the CPU, for AVX-512, or for the build's own "
        "architecture. The two sets round differently, so all ranks use one. Not in Megatron.");
  f.add("gemm-cache-file", c.gemm_cache_file,
        "File with the fastest matrix-product algorithms on this GPU. Default: megalith/gemm-algorithms.json in the "
        "user's cache directory. none: no measurement, the library's first suggestions, the same in every run. Not in "
        "Megatron.")
      .shown_as("FILE");
  f.add(
      "no-symmetric-memory", c.no_symmetric_memory,
      "Collectives between GPUs of a host by NCCL alone. Default: with NVLink, kernels access the other GPUs' memory. "
      "Not in Megatron.");
}

// Stages of a pipeline, and what they do when.
static void list_pipeline(ParallelConfig& c, config::FieldList& f) {
  f.add("pipeline-schedule", c.pipeline_schedule, {"1f1b", "zero-bubble"},
        "Order of a pipeline's work; zero-bubble: weight gradients fill the waiting at its end. Not in Megatron.");
  f.add(
       "pipeline-model-parallel-layout", c.pipeline_layout,
       "All virtual stages as text: E embedding, t layer, L head and loss, | the next stage, *N and (...)*N repeat; as "
       "in \"Et|(tt|)*6tL\". T5: also e and d, as in \"Ee|e|Ed|dL\". auto: shared out by cost, head and loss weighed.")
      .shown_as("TEXT");
  f.add("num-layers-per-virtual-pipeline-stage", c.num_layers_per_virtual_pipeline_stage,
        "Interleaving: layers of a model piece, of which a rank has several; 0: one piece a rank.");
  f.add("num-virtual-stages-per-pipeline-rank", c.num_virtual_stages_per_pipeline_rank,
        "Interleaving: number of model pieces a rank.")
      .also("--virtual-pipeline-model-parallel-size");
  f.add("microbatch-group-size-per-virtual-pipeline-stage", c.microbatch_group_size_per_vp_stage,
        "Micro-batches that a piece runs before the rank's next one; 0: the pipeline's size.");
  f.add("decoder-first-pipeline-num-layers", c.decoder_first_pipeline_num_layers,
        "Layers of the first pipeline rank; 0: as many as others.");
  f.add("decoder-last-pipeline-num-layers", c.decoder_last_pipeline_num_layers,
        "Layers of the last pipeline rank; 0: as many as others.");
  f.add("account-for-embedding-in-pipeline-split", c.account_for_embedding_in_pipeline_split,
        "Count the embedding as a layer when layers are divided among stages.");
  f.add("account-for-loss-in-pipeline-split", c.account_for_loss_in_pipeline_split, "Count head and loss as a layer.");
}

void list_fields(ParallelConfig& c, config::FieldList& f) {
  f.group("Parallelism");
  f.add("layout", c.layout, {"flags", "auto"},
        "auto: the planner chooses parallel sizes, the micro-batch, the schedule and recomputation for the ranks that "
        "are there. What is given stays fixed. Not in Megatron.");
  f.add("tensor-model-parallel-size", c.tensor_model_parallel_size, "Ranks that share each layer's matrices.");
  f.add("pipeline-model-parallel-size", c.pipeline_model_parallel_size, "Ranks that share the layers.");
  f.add("encoder-pipeline-model-parallel-size", c.encoder_pipeline_model_parallel_size,
        "T5: this many additional ranks, before the others, share the encoder's layers; the others share the "
        "decoder's. 0: all ranks share the layers of both, in order.");
  f.add("context-parallel-size", c.context_parallel_size, "Ranks that share each sequence.");
  f.add("expert-model-parallel-size", c.expert_model_parallel_size, "Ranks that share a layer's experts.")
      .also("--moe-expert-parallel-size");
  f.add("expert-tensor-parallel-size", c.expert_tensor_parallel_size,
        "Ranks that share each expert's matrices; 0: --tensor-model-parallel-size.");
  f.add("moe-expert-rank-capacity-factor", c.moe_expert_rank_capacity_factor,
        "Capacity of a rank for experts' rows, as a multiple of balanced routing. More rows are computed in "
        "parts, and none is dropped. None: the worst case.");
  f.add("sequence-parallel", c.sequence_parallel, "Split norms and dropout over the tensor-parallel ranks.");
  f.add("cp-comm-type", c.cp_comm_type, {"all_gather", "a2a", "p2p"},
        "Attention over context-parallel ranks: gather keys and values; all-to-all between sequence and "
        "heads; or a ring of keys and values.")
      .there_is("p2p");
  list_pipeline(c, f);
  f.add("use-distributed-optimizer", c.use_distributed_optimizer,
        "Divide main weights and moments among data-parallel ranks; each updates its part.");
  f.add("tp-comm-overlap", c.tp_comm_overlap, "Overlap transfers between tensor-parallel ranks with products.");
  f.add("moe-shared-expert-overlap", c.moe_shared_expert_overlap,
        "Overlap dispatch and combine of the experts' tokens with the shared expert.");
  f.add("overlap-grad-reduce", c.overlap_grad_reduce, "Overlap gradient reduction with the backward.");
  f.add("overlap-param-gather", c.overlap_param_gather,
        "Overlap the all-gather of updated weights with the next forward.");
  f.add("grad-reduce-in-bf16", c.grad_reduce_in_bf16,
        "Sum gradients over the ranks in bf16, which halves the bytes sent; each rank's own sums stay f32.")
      .means("--accumulate-allreduce-grads-in-fp32", "false",
             "Sum gradients over the ranks in f32, as is the default.");
  f.add("ddp-bucket-size", c.ddp_bucket_size,
        "Elements of a bucket; 0: the larger of 40 million and 1 million x data-parallel size.");
  f.add("distributed-timeout-minutes", c.distributed_timeout_minutes,
        "How long a rank waits for others before it gives up.");
  f.add("world-size", c.world_size, "Ranks to plan for with --dry-run. Not in Megatron.");
}

void list_fields(RecomputeConfig& c, config::FieldList& f) {
  f.group("Recomputation");
  f.add("recompute-granularity", c.granularity, {"none", "selective", "full"},
        "Activation checkpointing: the backward recomputes the parts of --recompute-modules, or whole layers.")
      .means("--recompute-activations", "selective");
  f.add("recompute-method", c.method, {"none", "uniform", "block"},
        "full: recompute all layers in chunks (uniform), or the first layers one by one (block); default: "
        "uniform.");
  f.add("recompute-num-layers", c.num_layers,
        "full: layers of a chunk (uniform), or number of recomputed layers (block); default: 1.");
  f.add("recompute-modules", c.modules,
        "selective: mlp, layernorm, core_attn, moe, moe_act, shared_experts; default: core_attn.")
      .shown_as("PART ...");
}

void list_fields(OffloadConfig& c, config::FieldList& f) {
  f.group("Activations in the host's memory");
  f.add("fine-grained-activation-offloading", c.on,
        "Move activations that layers keep for the backward to host memory, and back before they are read.");
  f.add("offload-modules", c.modules,
        "Modules whose activations are offloaded: attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm; of a"
        " dense MLP also mlp_fc1, mlp_act, mlp_fc2 (not in Megatron). Default: as much as the bus can "
        "transfer during other work, first the values that take longest to recompute.")
      .shown_as("PART ...");
  f.add("min-offloaded-tensor-size", c.min_tensor_size, "Tensors with fewer elements on a rank stay on the device.");
  f.add("activation-offload-fraction", c.fraction, "Fraction of these activations' bytes, from the first layer on.");
}

void list_fields(Options& c, config::FieldList& f) {
  list_fields(c.model, f);
  list_fields(c.train, f);
  list_fields(c.optimizer, f);
  list_fields(c.data, f);
  list_fields(c.tokenizer, f);
  list_fields(c.parallel, f);
  list_fields(c.recompute, f);
  list_fields(c.offload, f);
  list_fields(c.quantize, f);
}

}  // namespace megalith
