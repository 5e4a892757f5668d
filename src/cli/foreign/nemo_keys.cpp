#include "cli/foreign/nemo_keys.h"

#include <algorithm>

namespace megalith {
namespace {

struct NemoRow {
  const char* said;  // a flag, or a reason
  const char* keys;
};

constexpr NemoRow kFlags[] = {
    {"--train-iters", "trainer.max_steps"},
    {"--log-interval", "trainer.log_every_n_steps"},
    {"--clip-grad", "trainer.gradient_clip_val"},
    {"--save-interval", "exp_manager.checkpoint_callback_params.every_n_train_steps"},
    {"--load", "model.restore_from_path model.resume_from_checkpoint restore_from_path"},
    {"--seq-length",
     "model.encoder_seq_length model.data.seq_length model.data.train_ds.max_seq_length dataset.sequence_length "
     "dataset.seq_length data.seq_length"},
    {"--micro-batch-size", "model.data.train_ds.micro_batch_size data.micro_batch_size"},
    {"--global-batch-size", "model.data.train_ds.global_batch_size data.global_batch_size"},
    {"--norm-epsilon", "model.layernorm_epsilon"},
    {"--rotary-percent", "model.rotary_percentage"},
    {"--rotary-seq-len-interpolation-factor", "model.seq_len_interpolation_factor"},
    {"--lr", "optim.lr optim.config.lr"},
    {"--recompute-granularity", "model.activations_checkpoint_granularity"},
    {"--lr-warmup-fraction", "model.optim.sched.warmup_ratio"},
    {"--adam-eps", "model.optim.eps"},
    {"--overlap-grad-reduce", "model.optim.overlap_grad_sync"},
    {"--overlap-param-gather", "model.optim.overlap_param_sync"},
    {"--tp-comm-overlap", "model.ub_tp_comm_overlap"},
    {"--split", "model.data.splits_string"},
    {"--data-cache-path", "model.data.index_mapping_dir model.data.train_ds.index_mapping_dir dataset.path_to_cache"},
    {"--profile", "model.nsys_profile.enabled"},
    {"--profile-step-start", "model.nsys_profile.start_step"},
    {"--profile-step-end", "model.nsys_profile.end_step"},
};

constexpr NemoRow kFlagsOfFalse[] = {
    {"--disable-bias-linear", "model.bias"},
    {"--untie-embeddings-and-output-weights", "model.share_embeddings_and_output_weights"},
};

constexpr NemoRow kIdle[] = {
    {"the launcher starts the ranks",
     "trainer.devices trainer.num_nodes trainer.accelerator trainer.strategy* trainer.gpus"},
    {"nothing here needs it",
     "trainer.logger trainer.enable_checkpointing trainer.replace_sampler_ddp trainer.use_distributed_sampler "
     "trainer.benchmark trainer.max_epochs trainer.accumulate_grad_batches trainer.enable_progress_bar "
     "trainer.num_sanity_val_steps trainer.detect_anomaly trainer.enable_model_summary trainer.check_val_every_n_epoch "
     "trainer.limit_train_batches cluster_type launcher_log_file rank hydra.* run.* recipe.* model.pre_process "
     "model.post_process model.onnx_safe "
     "model.apex_transformer_log_level model.sync_batch_comm model.gc_interval model.precision model.target "
     "model.nsys_profile.* model.save_nemo_on_validation_end model.data.skip_warmup "
     "model.data.validation_drop_last model.data.no_seqlen_plus_one_input_tokens model.data.pad_samples_to_* "
     "model.data.shuffle_documents model.data.exchange_indices_distributed model.data.legacy_dataset model.name"},
    {"a run resumes if --save and --load are equal, and always saves at its end",
     "exp_manager.resume_if_exists exp_manager.resume_ignore_no_checkpoint exp_manager.create_checkpoint_callback "
     "exp_manager.checkpoint_callback_params.* exp_manager.name exp_manager.version name exp_manager.resume_past_end "
     "exp_manager.use_datetime_version exp_manager.log_step_timing exp_manager.step_timing_kwargs.* "
     "exp_manager.create_dllogger_logger exp_manager.dllogger_logger_kwargs.* exp_manager.ema.* "
     "exp_manager.create_early_stopping_callback exp_manager.early_stopping_callback_params.* "
     "exp_manager.create_tensorboard_logger exp_manager.summary_writer_kwargs.* exp_manager.seconds_to_sleep"},
    {"how a step is computed is planned, and does not change results",
     "model.transformer_engine model.mcore_gpt model.megatron_amp_O2 model.megatron_amp_o2 model.use_flash_attention "
     "model.gradient_as_bucket_view model.gradient_accumulation_fusion model.grad_allreduce_chunk_size_mb "
     "model.grad_div_ar_fusion model.use_cpu_initialization model.persist_layer_norm model.bias_activation_fusion "
     "model.bias_dropout_add_fusion model.masked_softmax_fusion model.get_attention_mask_from_fusion "
     "model.apply_rope_fusion model.overlap_p2p_comm model.batch_p2p_comm model.normalize_attention_scores "
     "model.apply_query_key_layer_scaling model.attention_type model.transformer_block_type model.headscale "
     "model.openai_gelu model.defer_embedding_wgrad_compute model.barrier_with_L1_time model.dist_ckpt* model.tp_comm* "
     "model.ub_tp_comm* model.fused_residual_rmsnorm model.activations_checkpoint_layers_per_pipeline "
     "model.num_micro_batches_with_partial_activation_checkpoints model.tp_only_amax_red model.reduce_amax "
     "model.optim.bucket_cap_mb model.optim.grad_sync_dtype model.optim.contiguous_grad_buffer "
     "model.optim.contiguous_param_buffer model.optim.dtype model.optim.param_sync_dtype model.fsdp_* "
     "model.optim.sched.monitor model.optim.sched.reduce_on_plateau model.use_te_rng_tracker "
     "model.deterministic_mode model.attention_backend"},
    {"--fp16 has Megatron's loss scale; --initial-loss-scale, --loss-scale-window and --hysteresis set it",
     "model.native_amp_* model.hysteresis model.fp16_lm_cross_entropy"},
    {"NeMo's settings of fp8 are not read: the --fp8-* flags are Megatron's",
     "model.fp8_* model.first_last_layers_bf16"},
    {"--sft reads lines with \"messages\", and --sft-tokenizer-prompt-format says how they become text",
     "model.data.train_ds.label_key model.data.train_ds.add_* model.data.train_ds.truncation_* "
     "model.data.train_ds.prompt_template model.data.train_ds.hf_dataset model.data.train_ds.input_key "
     "model.data.train_ds.output_key model.data.train_ds.tokens_to_generate model.data.chat* model.answer_only_loss "
     "model.data.train_ds.global_sample_mapping model.data.train_ds.min_seq_length model.data.train_ds.names"},
    {"each epoch of training is shuffled by --seed",
     "model.data.train_ds.shuffle model.data.train_ds.drop_last model.data.train_ds.memmap_workers "
     "model.data.train_ds.pin_memory model.data.train_ds.num_workers "
     "model.data.train_ds.packed_sequence_return_cu_seqlen"},
    {"evaluation has the sizes of training",
     "model.data.validation_ds.* model.data.test_ds.* trainer.limit_test_batches"},
    {"only adapters would need it", "model.peft.*"},
};

constexpr NemoRow kRefused[] = {
    {"NeMo's settings of fp8 are not read: give --fp8-format hybrid and --fp8-recipe",
     "model.fp8 model.fp8_hybrid model.fp8_e4m3 model.fp8_params"},
    {"NeMo's settings of Weights & Biases are not read: give --wandb-project and --wandb-exp-name",
     "exp_manager.create_wandb_logger exp_manager.wandb_logger_kwargs.* logger.wandb*"},
    {"sharding of weights is not built yet: --use-distributed-optimizer shards the optimizer's state", "model.fsdp"},
    {"NeMo's settings of experts are not read yet: give --num-experts and the --moe-* flags",
     "model.num_moe_experts model.moe_*"},
};

bool holds(std::string_view keys, std::string_view key) {
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(' ', at), keys.size());
    const std::string_view one = keys.substr(at, end - at);
    if (one.ends_with('*') ? key.starts_with(one.substr(0, one.size() - 1)) : key == one) return true;
    at = end + 1;
  }
  return false;
}

template <std::size_t N>
const char* said_of(const NemoRow (&rows)[N], std::string_view key) {
  for (const NemoRow& row : rows)
    if (holds(row.keys, key)) return row.said;
  return nullptr;
}

}  // namespace

const char* flag_of_key(std::string_view key) { return said_of(kFlags, key); }
const char* flag_of_false(std::string_view key) { return said_of(kFlagsOfFalse, key); }
const char* why_key_is_idle(std::string_view key) { return said_of(kIdle, key); }
const char* why_key_is_refused(std::string_view key) { return said_of(kRefused, key); }

std::string nemo_defaults(bool fine_tuning, bool model_is_loaded) {
  std::string words =
      "trainer.precision=16 trainer.gradient_clip_val=1.0 trainer.log_every_n_steps=10 model.micro_batch_size=4 "
      "model.optim.name=fused_adam model.optim.weight_decay=0.01 model.optim.betas=[0.9,0.98] "
      "model.optim.sched.name=CosineAnnealing ";
  if (fine_tuning)
    return words +
           "trainer.max_steps=20000 trainer.val_check_interval=200 model.global_batch_size=128 model.optim.lr=1e-4 "
           "model.optim.sched.warmup_steps=50 model.optim.sched.min_lr=0.0 model.data.train_ds.max_seq_length=2048";
  words +=
      "trainer.max_steps=100000 trainer.val_check_interval=100 trainer.limit_val_batches=50 model.global_batch_size=8 "
      "model.encoder_seq_length=512 model.optim.lr=2e-4 model.optim.sched.warmup_steps=500 "
      "model.optim.sched.min_lr=2e-5 "
      "model.optim.sched.constant_steps=50000 model.data.splits_string=900,50,50 ";
  if (!model_is_loaded)
    words +=
        "model.num_layers=12 model.hidden_size=768 model.num_attention_heads=12 model.hidden_dropout=0.1 "
        "model.attention_dropout=0.1 model.tokenizer.library=megatron model.tokenizer.type=GPT2BPETokenizer";
  return words;
}

}  // namespace megalith
