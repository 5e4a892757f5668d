#include "train/megatron_flags.h"

#include <fmt/ranges.h>

#include <sstream>
#include <vector>

namespace megalith {
namespace {

// Flags are separated by spaces. In the accepted rows a `=` after a flag says that it takes a value, `=*` any number of
// them.
struct Row {
  const char* why;
  const char* flags;
};

constexpr Row kAccepted[] = {
    {"there is one implementation of the model",
     "--use-mcore-models --transformer-impl= --enable-experimental --use-transformer-engine-op-fuser"},
    {"attention never holds the s x s matrix here",
     "--use-flash-attn --attention-backend= --flash-attention-version= --no-masked-softmax-fusion "
     "--no-create-attention-mask-in-dataloader"},
    {"softmax, norms' statistics and the loss are in f32 always",
     "--attention-softmax-in-fp32 --disable-bf16-reduced-precision-matmul"},
    {"gradients are accumulated in f32 always", "--no-gradient-accumulation-fusion"},
    {"loss and gradients are normalised per token over the global batch always", "--calculate-per-token-loss"},
    {"runs are deterministic always", "--deterministic-mode"},
    {"initial weights and dropout are keyed by the element, the same under every layout",
     "--use-cpu-initialization --init-model-with-meta-device --te-rng-tracker"},
    {"weights that --load gives are never drawn first; those of a new model are drawn always", "--no-initialization"},
    {"which operations are fused is decided by the planner and does not change results",
     "--no-bias-gelu-fusion --no-bias-swiglu-fusion --no-bias-dropout-fusion --no-rope-fusion --no-persist-layer-norm "
     "--disable-jit-fuser --cross-entropy-loss-fusion --cross-entropy-fusion-impl= --use-fused-weighted-squared-relu "
     "--fused-residual-rmsnorm"},
    {"--optimizer-cpu-offload moves optimizer state alone, through pinned memory, and the GPU computes with it",
     "--no-pin-cpu-grads --no-pin-cpu-params --use-torch-optimizer-for-cpu-offload"},
    {"main weights, gradients and moments are f32 always", "--use-precision-aware-optimizer"},
    {"one rank has nothing to share, overlap or send",
     "--delay-grad-reduce "
     "--delay-param-gather "
     "--no-align-grad-reduce --no-align-param-gather --ddp-num-buckets= --ddp-average-in-collective "
     "--ddp-pad-buckets-for-high-nccl-busbw --no-gradient-reduce-div-fusion --tp-comm-overlap-cfg= "
     "--tp-comm-overlap-rs-dgrad --tp-comm-bootstrap-backend= --no-clone-scatter-output-in-embedding "
     "--no-overlap-p2p-communication --overlap-p2p-communication-warmup-flush --use-tp-pp-dp-mapping "
     "--distributed-backend= "
     "--distributed-timeout-seconds-after-init= --disable-gloo-process-groups "
     "--local-rank= "
     "--DDP-impl= --no-async-tensor-model-parallel-allreduce --no-scatter-gather-tensors-in-pipeline "
     "--num-distributed-optimizer-instances= --lazy-mpu-init= --nccl-communicator-config-path="},
    {"--overlap-param-gather gathers the first pool beside the optimizer always",
     "--overlap-param-gather-with-optimizer-step"},
    {"--ckpt-format chooses: native, or torch_dist, which Megatron-LM reads", "--use-dist-ckpt --dist-ckpt-format="},
    {"each --ckpt-format has one form, which every layout reads",
     "--ckpt-fully-parallel-load --ckpt-assume-constant-structure "
     "--dist-ckpt-optim-fully-reshardable --distrib-optim-fully-reshardable-mem-efficient "
     "--ckpt-pg-tensors-cache-path= "
     "--no-save-tokenizer-assets"},
    {"what --load holds is found by itself always", "--auto-detect-ckpt-format"},
    {"SIGTERM, or another --exit-signal, saves and leaves always", "--exit-signal-handler"},
    {"--async-save writes by threads of the run itself",
     "--async-strategy= --use-persistent-ckpt-worker --non-persistent-local-ckpt-algo= "
     "--async-ckpt-cpu-priority= --async-ckpt-io-priority= --async-ckpt-use-cpu-shm"},
    {"datasets are memory-mapped and their indices are made in one pass",
     "--no-mmap-bin-files --dataloader-fast-cache-load --dataloader-defer-npy-index-mmap "
     "--num-dataset-builder-threads="},
    {"there is no garbage collector and no caching allocator here",
     "--manual-gc --manual-gc-interval= --no-manual-gc-eval --train-sync-interval= --empty-unused-memory-level="},
    {"memory, timers and every scalar are reported always, at their own places",
     "--timing-log-level= --timing-log-option= --no-barrier-with-level-1-timing --log-timers-to-tensorboard "
     "--log-batch-size-to-tensorboard --log-validation-ppl-to-tensorboard --log-memory-to-tensorboard "
     "--log-world-size-to-tensorboard --no-log-learnig-rate-to-tensorboard --no-log-learning-rate-to-tensorboard "
     "--no-log-loss-scale-to-tensorboard --tensorboard-queue-size= --no-one-logger "
     "--enable-one-logger"},
    {"there is one rank, and --profile comes with a range for each op", "--profile-ranks=* --nvtx-ranges"},
    {"bad iterations are skipped and counted; nothing is run again", "--rerun-mode="},
};

constexpr Row kNotBuilt[] = {
    {"fp8 and fp4 are not built yet: train with --bf16 or in f32",
     "--fp8-format --fp8-recipe --fp8-margin --fp8-amax-history-len --fp8-amax-compute-algo --fp8-quantizer-factory "
     "--no-fp8-wgrad "
     "--fp8-output-proj --fp8-param-gather --fp4-format --fp4-recipe --fp4-param-gather --first-last-layers-bf16 "
     "--num-layers-at-start-in-bf16 --num-layers-at-end-in-bf16 --te-precision-config-file --kitchen-config-file "
     "--kitchen-recipe-number --reuse-grad-buf-for-mxfp8-param-ag --keep-fp8-transpose-cache "
     "--moe-router-padding-for-quantization --moe-router-padding-for-fp8"},
    {"fp16 is not built yet: train with --bf16 or in f32",
     "--fp16 --loss-scale --initial-loss-scale --min-loss-scale --loss-scale-window --hysteresis "
     "--fp16-lm-cross-entropy "
     "--apply-query-key-layer-scaling --no-query-key-layer-scaling"},
    {"mixture of experts is not built yet",
     "--num-experts --moe-layer-freq --moe-ffn-hidden-size --moe-router-topk --moe-router-score-function "
     "--moe-router-pre-softmax "
     "--moe-router-topk-scaling-factor --moe-router-dtype --moe-router-num-groups --moe-router-group-topk "
     "--moe-router-load-balancing-type --moe-aux-loss-coeff --moe-z-loss-coeff --moe-router-enable-expert-bias "
     "--moe-router-bias-update-rate --moe-router-quantile-balancing-ema --moe-input-jitter-eps "
     "--moe-router-force-load-balancing "
     "--moe-router-force-biased --moe-token-dispatcher-type --moe-flex-dispatcher-backend --moe-enable-deepep "
     "--moe-flex-dispatcher-num-sms --moe-dispatch-fwd-dtype --moe-combine-bwd-dtype --moe-expert-capacity-factor "
     "--moe-pad-expert-input-to-capacity --moe-token-drop-policy --moe-expert-rank-capacity-factor --moe-grouped-gemm "
     "--moe-use-grouped-tensor --moe-single-grouped-weight --moe-single-grouped-bias --moe-apply-probs-on-input "
     "--moe-shared-expert-intermediate-size --moe-shared-expert-gate --moe-shared-expert-overlap --moe-latent-size "
     "--moe-use-upcycling --moe-upcycling-granularity --moe-enable-routing-replay --moe-routing-trace-path "
     "--moe-paged-stash "
     "--moe-per-layer-logging --moe-permute-fusion --moe-router-fusion --moe-layer-recompute "
     "--save-tokens-per-expert-interval "
     "--overlap-dispatch-backward-with-experts-wgrad --high-priority-a2a-comm-stream "
     "--overlap-moe-expert-parallel-comm "
     "--ep-overlap-early-attn-memory-release"},
    {"multi-latent attention is not built yet",
     "--multi-latent-attention --q-lora-rank --kv-lora-rank --qk-head-dim --qk-pos-emb-head-dim --v-head-dim "
     "--rotary-scaling-factor --mscale --mscale-all-dim --cache-mla-latents --mla-down-proj-fusion"},
    {"multi-token prediction is not built yet",
     "--mtp-num-layers --mtp-loss-scaling-factor --mtp-use-repeated-layer --mtp-detach-heads --mtp-hsm "
     "--mtp-standalone"},
    {"this part of pipelines is not built yet",
     "--pipeline-model-parallel-comm-backend --use-ring-exchange-p2p --defer-embedding-wgrad-compute "
     "--wgrad-deferral-limit "
     "--delay-wgrad-compute --standalone-embedding-stage"},
    {"context parallelism is not built yet",
     "--hierarchical-context-parallel-sizes --hybrid-context-parallel --max-seqlen-per-dp-cp-rank"},
    {"sharding of weights over ranks is not built yet",
     "--tensor-parallel-num-weight-shards --expert-tensor-parallel-num-weight-shards --use-megatron-fsdp "
     "--use-torch-fsdp2 "
     "--data-parallel-sharding-strategy --outer-dp-sharding-strategy --megatron-fsdp-version --fsdp-double-buffer "
     "--suggested-communication-unit-size --data-parallel-random-init"},
    {"tuning of communication is not built yet",
     "--high-priority-stream-groups --use-sharp --sharp-enabled-group --use-nccl-ub --disable-symmetric-registration "
     "--symmetric-ar-type --fake-process-group --flight-recorder-dump-path "
     "--ddp-reduce-scatter-with-fp32-accumulation --ddp-param-name-patterns-for-fp32-local-accumulation "
     "--check-for-large-grads "
     "--check-weight-hash-across-dp-replicas-interval"},
    {"saved activations are not distributed over ranks yet", "--distribute-saved-activations"},
    {"offloading activations is not built yet",
     "--cpu-offloading-num-layers --cpu-offloading-retain-pinned-cpu-buffers --fine-grained-activation-offloading "
     "--offload-modules "
     "--min-offloaded-tensor-size --activation-offload-fraction --delta-offload-bytes-across-pp-ranks"},
    {"low-precision optimizer state is not built yet",
     "--main-grads-dtype --main-params-dtype --exp-avg-dtype --exp-avg-sq-dtype"},
    {"this optimizer setting is not built yet: --optimizer adam and sgd are there",
     "--lion-beta1 --lion-beta2 --muon-momentum --muon-num-ns-steps "
     "--muon-scale-mode "
     "--muon-tp-mode --muon-use-nesterov --muon-no-split-qkv --muon-extra-scale-factor "
     "--no-use-layer-wise-param-layout "
     "--apply-wd-to-qk-layernorm --optimizer-cuda-graph --dump-param-to-param-group-map --use-mup "
     "--mup-base-hidden-size "
     "--mup-width-mult --mup-embedding-mult --mup-output-mult --mup-base-head-dim --mup-attn-scale-power --qk-clip "
     "--qk-clip-alpha --qk-clip-threshold"},
    {"this kind of position is not built yet: --position-embedding-type learned_absolute, rope, alibi and none are "
     "there",
     "--yarn-original-max-position-embeddings --yarn-beta-fast --yarn-beta-slow "
     "--yarn-rotary-scaling-factor "
     "--no-yarn-correction-range-round-to-int --no-rope-freq --mrope-section --relative-attention-num-buckets "
     "--relative-attention-max-distance"},
    {"this variant of a layer is not built yet",
     "--quick-geglu --activation-func-clamp-value --glu-linear-offset --apply-layernorm-1p --qk-l2-norm --softmax-type "
     "--attention-output-gate --apply-residual-connection-post-layernorm "
     "--output-logit-dtype "
     "--mlp-chunks-for-prefill "
     "--mlp-chunks-for-training --freeze-all-layers --window-attn-skip-freq --spec --experimental-attention-variant "
     "--linear-attention-freq --heterogeneous-layers-config-path --heterogeneous-layers-config-encoded-json "
     "--enable-mhc-connections --log-max-attention-logit"},
    {"state-space and hybrid layers are not built yet",
     "--hybrid-layer-pattern --hybrid-override-pattern --hybrid-attention-ratio --hybrid-mlp-ratio --mamba-state-dim "
     "--mamba-head-dim --mamba-num-groups --mamba-num-heads --is-hybrid-model --gdp-num-householder"},
    {"encoders and other model families are not built yet",
     "--encoder-num-layers --decoder-num-layers --decoder-seq-length --bert-no-binary-head --mask-prob "
     "--short-seq-prob "
     "--perform-rl-step --grpo-prompts-per-step --grpo-group-size --grpo-iterations --grpo-kl-beta --langrl-env-config "
     "--rl-generation-lag --refit-method"},
    {"this way to feed data is not built yet",
     "--per-dataset-sequences-path --dataloader-inter-document-masking "
     "--object-storage-cache-path --enable-msc --phase-transition-iterations --iterations-to-skip "
     "--result-rejected-tracker-filename"},
    {"this tokenizer setting is not built yet: docs/tokenizers.md has those that are",
     "--tokenizer-metadata --tokenizer-special-tokens --vocab-extra-ids --trust-remote-code --tokenizer-hf-no-use-fast "
     "--chat-template --tokenizer-sentencepiece-legacy"},
    {"this checkpoint setting is not built yet",
     "--pretrained-checkpoint --load-main-params-from-ckpt --override-ckpt-iteration --use-checkpoint-args "
     "--use-mp-args-from-checkpoint-args --replication "
     "--replication-jump --replication-factor --ckpt-convert-format --ckpt-convert-save "
     "--ckpt-convert-update-legacy-dist-opt-format --dist-ckpt-save-pre-mcore-014 --dist-ckpt-strictness "
     "--verify-integrity "
     "--no-ckpt-load-validate-sharding-integrity --save-params-interval --save-activations-interval "
     "--save-wgrads-interval "
     "--save-dgrads-interval --logits-save --logits-load --logits-load-kd-loss-alpha"},
    {"this kind of logging is not built yet: --tensorboard-dir and --metrics-file are there",
     "--wandb-project --wandb-exp-name --wandb-save-dir --wandb-entity --log-memory-interval --log-device-memory-used "
     "--log-energy "
     "--log-progress --otel-enabled --otel-service-name --otel-span-groups --config-logger-dir"},
    {"there is no port to switch the detector on and off: --log-straggler reports with every log line",
     "--straggler-ctrlr-port"},
    {"this kind of resilience is not built yet",
     "--check-for-spiky-loss --error-injection-rate --error-injection-type --gpu-sniff-test-interval "
     "--enable-ft-package "
     "--calc-ft-timeouts --ft-num-warmup-iters --inprocess-restart --adlr-autoresume "
     "--adlr-autoresume-interval --run-workload-inspector-server"},
    {"this kind of profiling is not built: --profile works with nsys, --print-plan and --dry-run show what a step does",
     "--use-pytorch-profiler --record-memory-history --memory-snapshot-path"},
    {"CUDA graphs are not built yet",
     "--cuda-graph-impl --cuda-graph-modules --cuda-graph-warmup-steps --enable-cuda-graph --external-cuda-graph"},
    {"batch-invariant kernels are not built yet", "--batch-invariant-mode --batch-invariant-backend"},
    {"serving is not built: `generate` makes text from a checkpoint",
     "--flash-decode --use-legacy-static-engine --inference-max-requests --inference-max-seq-length "
     "--max-tokens-to-oom "
     "--inference-batch-times-seqlen-threshold --inference-dynamic-batching --enable-chunked-prefill "
     "--num-speculative-tokens "
     "--inference-cuda-graph-scope --decode-only-cuda-graphs --inference-coordinator-port --inference-shards"},
};

// Old, misremembered or foreign spellings, and what to write instead.
constexpr Row kReplacedFlags[] = {
    {"use --micro-batch-size and --global-batch-size", "--batch-size"},
    {"use --lr-warmup-fraction or --lr-warmup-iters", "--warmup"},
    {"use --tensor-model-parallel-size", "--model-parallel-size"},
    {"use --seq-length", "--encoder-seq-length --max-seq-length"},
    {"use --config", "--yaml-cfg"},
    {"use --position-embedding-type none", "--no-position-embedding"},
    {"use --fp8-format, once fp8 is built", "--fp8 --fp8-hybrid --fp8-interval --fp8-e4m3"},
    {"use --optimizer-cpu-offload", "--cpu-optimizer --cpu-optimizer-type"},
    {"use --recompute-granularity, --recompute-method and --recompute-num-layers",
     "--checkpoint-activations --checkpoint-method --checkpoint-num-layers --distribute-checkpointed-activations"},
    {"leave it out: one rank has no replicas to compare", "--consistency-check"},
    {"use --log-straggler", "--enable-straggler-detection"},
};

std::vector<config::OtherFlag> read_row(const Row& row, bool accepted) {
  using Takes = config::OtherFlag::Takes;
  std::vector<config::OtherFlag> flags;
  std::istringstream words(row.flags);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const Takes takes = equals == std::string::npos ? Takes::nothing : word.ends_with('*') ? Takes::many : Takes::one;
    flags.push_back({.flag = word.substr(0, equals), .accepted = accepted, .takes = takes, .why = row.why});
  }
  return flags;
}

template <size_t N>
std::string list_of(const Row (&rows)[N], bool accepted) {
  std::string out;
  for (const Row& row : rows) {
    std::vector<std::string> names;
    for (const auto& flag : read_row(row, accepted)) names.push_back("`" + flag.flag + "`");
    out += fmt::format("- {}: {}\n", row.why, fmt::join(names, ", "));
  }
  return out;
}

}  // namespace

std::span<const config::OtherFlag> megatron_flags() {
  static const std::vector<config::OtherFlag> flags = [] {
    std::vector<config::OtherFlag> all;
    const auto append = [&](const auto& rows, bool accepted) {
      for (const Row& row : rows)
        for (auto& flag : read_row(row, accepted)) all.push_back(std::move(flag));
    };
    append(kAccepted, true);
    append(kNotBuilt, false);
    append(kReplacedFlags, false);
    return all;
  }();
  return flags;
}

std::string megatron_flags_markdown() {
  return "## Megatron's flags that are accepted and have no effect\n\n" + list_of(kAccepted, true) +
         "\n## Megatron's flags that are refused\n\n" + list_of(kNotBuilt, false) + "\n## Old spellings\n\n" +
         list_of(kReplacedFlags, false);
}

}  // namespace megalith
