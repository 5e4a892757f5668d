// Megatron's flags for training features that are not built.
#include "settings/megatron_rows.h"

namespace megalith::megatron {

constexpr Feature kOfRun[] = {
    {"--pipeline-model-parallel-layout gives a stage with only the embedding", "--standalone-embedding-stage", "", ""},
    {"context-parallel groups of another size for each sample are not built: --context-parallel-size holds for all",
     "--hybrid-context-parallel", "--max-seqlen-per-dp-cp-rank=", ""},
    {"context parallelism on two levels (a2a+p2p) is not built: --cp-comm-type p2p, a2a and all_gather are",
     "--hierarchical-context-parallel-sizes=*", "", ""},
    {"weights are not sharded over data-parallel ranks yet: --use-distributed-optimizer shards main weights and "
     "moments",
     "--use-megatron-fsdp --use-torch-fsdp2 --use-custom-fsdp --data-parallel-sharding-strategy=no_shard "
     "--tensor-parallel-num-weight-shards=1",
     "--outer-dp-sharding-strategy= --megatron-fsdp-version= --fsdp-double-buffer "
     "--suggested-communication-unit-size= --fsdp-db-use-persist-buf-on-alloc-fail --fsdp-manual-registration "
     "--megatron-fsdp-enable-fine-grained-param-gather --megatron-fsdp-grad-comm-dtype= "
     "--megatron-fsdp-main-grads-dtype= --megatron-fsdp-main-params-dtype= --megatron-fsdp-max-pool-double-buffer "
     "--enable-full-sharding-in-hsdp --torch-fsdp2-no-reshard-after-forward --gtp-expert-remat-nccl-ub "
     "--gtp-remat-nccl-ub --gtp-remat-opt-in-modules=* --gtp-remat-reduce-scatter-with-fp32-accumulation",
     ""},
    {"data-parallel ranks always have the same initial weights", "--data-parallel-random-init", "", ""},
    {"f32 sums of gradients that are sent in bf16 are not built: leave out --grad-reduce-in-bf16", "",
     "--ddp-reduce-scatter-with-fp32-accumulation", "--grad-reduce-in-bf16"},
    {"runs of ranks that do not exist are not built: --dry-run --world-size N plans for them", "--fake-process-group",
     "", ""},
    {"kept activations are not split separately over tensor-parallel ranks: --sequence-parallel does it",
     "--distribute-saved-activations --distribute-checkpointed-activations --partition-activations", "", ""},
    {"layers are not offloaded by number: --fine-grained-activation-offloading chooses values",
     "--cpu-offloading-num-layers=0 --checkpoint-in-cpu", "--cpu-offloading-retain-pinned-cpu-buffers", ""},
    {"each pipeline stage offloads by the same rule", "--delta-offload-bytes-across-pp-ranks=0", "", ""},
    {"only adam's state can be on the host", "--cpu-optimizer-type=adam|Adam|ADAM", "", ""},
    {"optimizer state of 8 bits is not built: --exp-avg-dtype bf16 and --exp-avg-sq-dtype bf16 halve it",
     "--use-bnb-optimizer", "", ""},
    {"main weights are f32: leave it out, or give fp32", "--main-params-dtype=fp32", "", ""},
    {"learning rates and weight decay by kind of parameter are not built yet",
     "--apply-wd-to-qk-layernorm --no-weight-decay-cond-type= --use-mup --mup",
     "--mup-input-mult= --mup-attn-mult= --mup-scale-factor= --mup-attn-scale-power= --mup-base-head-dim= "
     "--mup-base-hidden-size= --mup-embedding-mult= --mup-output-mult= "
     "--mup-width-mult=",
     ""},
    {"reinforcement learning is not built yet", "--perform-rl-step",
     "--rl-calculate-intra-group-similarity= --rl-consumption-granularity= --rl-default-temperature= "
     "--rl-default-top-k= --rl-default-top-p= --rl-durable-rollout-bank --rl-generation-batch-size= "
     "--rl-generation-lag= --rl-importance-sampling-truncation-coef= --rl-inference-expert-model-parallel-size= "
     "--rl-inference-expert-tensor-model-parallel-size= --rl-inference-logprobs-is-correction "
     "--rl-inference-model-unified-memory-level= --rl-inference-parsers=* "
     "--rl-inference-pipeline-model-parallel-size= --rl-inference-tensor-model-parallel-size= "
     "--rl-kv-cache-management-mode= --rl-max-inflight-requests= --rl-num-parallel-generation-batches= "
     "--rl-num-parallel-generations= --rl-offload-inference-model-weights-when-idle "
     "--rl-offload-kv-cache-during-training --rl-offload-optimizer-during-inference --rl-parallel-generation-tasks= "
     "--rl-partial-rollouts --rl-persist-cuda-graphs --rl-profile --rl-profile-dir= --rl-prompts-per-eval= "
     "--rl-remove-kv-cache-during-training --rl-reset-cuda-graphs --rl-rollout-bank-dir= "
     "--rl-rollout-bank-max-bytes= --rl-sequence-packing-algo= --rl-sequence-packing-bin-size= "
     "--rl-sequence-packing-max-sequences-per-bin= --rl-skip-bos-token --rl-submission-granularity= "
     "--rl-training-cuda-graphs --rl-use-sequence-packing --rl-verify-model-weights-swap "
     "--no-rl-inference-logprobs-is-correction --no-rl-offload-inference-model-weights-when-idle "
     "--no-rl-offload-kv-cache-during-training --no-rl-partial-rollouts --no-rl-persist-cuda-graphs "
     "--no-rl-remove-kv-cache-during-training --no-rl-reset-cuda-graphs --no-rl-skip-bos-token "
     "--no-rl-training-cuda-graphs --no-rl-use-sequence-packing --no-rl-verify-model-weights-swap "
     "--grpo-clamp-eps-lower= --grpo-clamp-eps-upper= --grpo-default-temperature= --grpo-default-top-p= "
     "--grpo-entropy-term-weight= --grpo-filter-groups-with-same-reward --grpo-group-size= --grpo-iterations= "
     "--grpo-kl-beta= --grpo-prompts-per-step= --langrl-env-config= --langrl-external-server "
     "--langrl-inference-server-conversation-template= --langrl-inference-server-type= --no-langrl-external-server "
     "--refit-method=",
     ""},
    {"distillation, pruning and quantised training are not built yet",
     "--export-kd-teacher-load= --export-quant-cfg= --modelopt-enabled --logits-load --logits-save --distillation "
     "--distill-only --flextron --enable-router --export-num-medusa-heads=0 --export-num-eagle-layers=0 "
     "--export-num-mtp=0 --load-model-opt-format --finetune-hf-dataset= "
     "--kd --mos",
     "--load-teacher= --num-layers-teacher= --hidden-size-teacher= --num-attention-heads-teacher= --kd-alpha-ce= "
     "--kd-beta-ce= --kd-temp= --export-default-te-spec --export-draft-vocab-size= --export-eagle-algorithm= "
     "--export-force-local-attention "
     "--export-freeze-mtp=* --export-kd-cfg= --export-kd-finalize --export-kd-teacher-ckpt-format= "
     "--export-kd-teacher-model-config= --export-kv-cache-quant --export-legacy-megatron --export-model-type= "
     "--export-moe-apply-probs-on-input --export-offline-model --export-qk-l2-norm --export-real-quant-cfg= "
     "--export-te-mcore-model --logits-load-decode-threads= --logits-load-dir= --logits-load-ignore-errors "
     "--logits-load-kd-loss-alpha= --logits-load-msc-prefetch-depth= --logits-load-prefetch-factor= "
     "--logits-save-dir= --logits-save-dtype= --logits-save-top-k= --logits-save-top-p= --logits-save-top-p-min-k= "
     "--distill-coeff= --ammo-convert-te-to-local-spec --ammo-load-classic-megatron-to-mcore --ammo-quant-cfg= "
     "--teacher-model-config= --flextron-config-file= --bpe-kv-cache= --bpe-max-buffer= --bpe-params= "
     "--bpe-ssm-cache= --budget-list=* --budget-probs=* --budget-type= --router-beta= --router-gbs= "
     "--router-inter-dim= --router-std= --finetune-data-split= --add-skipping --binary-mask --curr-iteration= "
     "--disable-budget --emb-int-list=* --emb-per-list=* --flex-hetero-ffn --flex-hetero-mamba "
     "--flex-hetero-moe-expert --flex-strict --force-emb=* --force-mamba=* --force-mlp=* --force-router-skip=* "
     "--freeze-model --freeze-router --hard-sample-th= --is-flex-eval --loss-alpha= --lr-mult-router= "
     "--mem-batch-size= --mem-infer-seq-len= --mlp-int-list=* --mlp-per-list=* --no-attn-skip "
     "--normalize-router-logits --original-model-sample-prob= --override-selected-budget=* --prefill-chunk-size= "
     "--skip-num-attn-layer-constraint= --skip-total-layer-constraint= --slice --soft-mask --tau-decay= --tau-init= "
     "--basemodel-type= --memory-profile= --memory-profile-path= --log-budgets=* --layer-ranking-list=* "
     "--param-budget-target=",
     ""},
    {"data from object stores is not read yet",
     "--object-storage-cache-path= --enable-msc --s3-cache-path=", "--disable-msc", ""},
    {"tokens are not counted: divide them by --seq-length and give --train-samples, --lr-warmup-samples and "
     "--lr-decay-samples",
     "--train-tokens= --lr-warmup-tokens= --lr-decay-tokens=", "", ""},
    {"--train-data-path, --valid-data-path and --test-data-path give lists of data for each split",
     "--train-weighted-split-paths=* --valid-weighted-split-paths=* --test-weighted-split-paths=* "
     "--train-weighted-split-paths-path= --valid-weighted-split-paths-path= --test-weighted-split-paths-path= "
     "--train-data=* --valid-data=* --test-data=*",
     "", ""},
    {"megalith preprocess-data tokenizes text, --sft trains on chats: a run's length is --train-iters or "
     "--train-samples",
     "--train-mode=pretrain --dataset=MMAP|LLama-Pretrain-Idxmap --epochs= --loss-on-targets-only",
     "--max-padding-length= --keep-last", ""},
    {"this way to feed data is not built yet",
     "--random-ltd --data-efficiency-curriculum-learning --skip-train-iteration-range=* "
     "--dataloader-inter-document-masking --phase-transition-iterations= "
     "--result-rejected-tracker-filename= --renormalize-blend-weights --data-impl=infer|mmap",
     "", ""},
    {"this tokenizer setting is not built yet: docs/tokenizers.md has those that are",
     "--tokenizer-special-tokens=* --chat-template= --tokenizer-sentencepiece-legacy "
     "--no-tokenizer-sentencepiece-ignore-extra-whitespaces",
     "", ""},
    {"use --load DIR --finetune", "--pretrained-checkpoint=", "", ""},
    {"a run resumes at the checkpoint's iteration: --finetune starts at 0",
     "--override-ckpt-iteration= --reset-iteration --no-load-lr-state", "", ""},
    {"a checkpoint of DeepSpeed is not read: make a Hugging Face directory or Megatron's checkpoint of it",
     "--universal-checkpoint", "", ""},
    {"megalith convert does this", "--ckpt-convert-format= --ckpt-convert-save=", "", ""},
    {"this checkpoint setting is not built yet", "--load-main-params-from-ckpt --replication",
     "--replication-jump= --replication-factor=", ""},
    {"values of layers are not saved",
     "--save-params-interval=0|None --save-activations-interval=0|None --save-wgrads-interval=0|None "
     "--save-dgrads-interval=0|None",
     "", ""},
    {"failures are not simulated",
     "--error-injection-rate=0 --fault-injector-delay-start-iteration= --fault-injector-fault-delay= "
     "--fault-injector-fault-probabilities= --fault-injector-fault-types= --fault-injector-mtti-seconds= "
     "--fault-injector-num-ranks= --fault-injector-offset-seconds= --fault-injector-ranks= --fault-injector-seed=",
     "--error-injection-type=", ""},
    {"DeepSpeed's file is not read: its settings are flags here", "--deepspeed_config= --deepspeed-config=", "", ""},
    {"ZeRO's first stage is --use-distributed-optimizer, the others are not built yet", "--zero-stage=0",
     "--zero-contigious-gradients --zero-reduce-scatter --zero-reduce-bucket-size= --zero-allgather-bucket-size=", ""},
    {"use --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR", "--patch-tokenizer-type=", "", ""},
    {"--optimizer-cpu-offload and --optimizer-offload-fraction X put optimizer state on the host", "--cpu-offloading",
     "--optimizer-offload-policy= --optimizer-offload-auto-threshold=", ""},
    {"sequences on several ranks are not split further", "--ds-sequence-parallel-fpdt",
     "--ds-sequence-parallel-fpdt-chunk-size= --ds-sequence-parallel-fpdt-offloading", ""},
    {"give the vocabulary with its extra tokens by --vocab-size, or its rows in memory by --padded-vocab-size",
     "--extra-vocab-size=0", "", ""},
};

std::span<const Feature> missing_of_run() { return kOfRun; }

}  // namespace megalith::megatron
