// Megatron's flags that are accepted without effect: they request the default behaviour, or configure code that this
// program lacks. Each reason says what happens instead.
#include "settings/megatron_rows.h"

namespace megalith::megatron {

constexpr Row kAccepted[] = {
    {"there is one implementation of the model",
     "--use-mcore-models --transformer-impl= --enable-experimental --use-transformer-engine-op-fuser "
     "--use-legacy-models --use-te-activation-func --use-grouped-gemm-for-dense-mlp --deepspeed "
     "--no-pipeline-parallel --enable-zbh1-exact-semantics"},
    {"experts are computed by grouped products, and tokens are gathered for them; results are those of each dispatcher",
     "--moe-grouped-gemm --moe-permute-fusion --moe-router-fusion --moe-token-dispatcher-type= --moe-enable-deepep "
     "--moe-flex-dispatcher-backend= --moe-flex-dispatcher-num-sms= --moe-deepep-num-sms= --moe-hybridep-num-sms= "
     "--moe-hybridep-num-blocks-permute= --moe-hybridep-num-blocks-unpermute= --moe-hybridep-num-sms-preprocessing= "
     "--moe-hybridep-pad-uneven-dispatch-inputs --moe-permute-fusion-into-hybridep --moe-ncclep-static-shape "
     "--moe-ncclep-zero-copy --moe-use-grouped-tensor "
     "--moe-use-legacy-grouped-gemm --moe-single-grouped-bias --moe-single-grouped-weight "
     "--use-grouped-gemm-for-shared-expert --ep-overlap-early-attn-memory-release "
     "--enable-expert-tensor-parallelism --disable-moe-token-dropping"},
    {"dispatch and combine of experts' tokens overlap with all independent work of their micro-batch",
     "--overlap-moe-expert-parallel-comm --overlap-dispatch-backward-with-experts-wgrad "
     "--high-priority-a2a-comm-stream"},
    {"attention never holds the s x s matrix here",
     "--use-flash-attn --use-flash-attn-v1 --use-flash-attn-v2 --use-flash-attn-triton --attention-backend= "
     "--flash-attention-version= --no-masked-softmax-fusion --no-create-attention-mask-in-dataloader "
     "--no-scaled-masked-softmax-fusion --scaled-upper-triang-masked-softmax-fusion="},
    {"softmax, norms' statistics and the loss are always in f32",
     "--attention-softmax-in-fp32 --disable-bf16-reduced-precision-matmul --apply-query-key-layer-scaling "
     "--no-query-key-layer-scaling --fp16-lm-cross-entropy"},
    {"gradients are always accumulated in f32",
     "--no-gradient-accumulation-fusion --fp32-allreduce --ddp-param-name-patterns-for-fp32-local-accumulation=*"},
    {"loss and gradients are always normalised per token over the global batch",
     "--calculate-per-token-loss --ddp-average-in-collective --no-gradient-reduce-div-fusion"},
    {"fp8 scales are updated once a step", "--fp8-interval="},
    {"runs are always deterministic", "--deterministic-mode"},
    {"initial weights and dropout are keyed by the element, the same under every layout",
     "--use-cpu-initialization --init-model-with-meta-device --te-rng-tracker "
     "--inference-rng-tracker"},
    {"weights from --load are never initialized first; those of a new model always are", "--no-initialization"},
    {"which operations are fused is decided by the planner",
     "--no-bias-gelu-fusion --no-bias-swiglu-fusion --no-bias-dropout-fusion --no-rope-fusion "
     "--no-persist-layer-norm --disable-jit-fuser --abort-on-unmet-fused-kernel-constraints --mla-down-proj-fusion "
     "--cross-entropy-loss-fusion --cross-entropy-fusion-impl= "
     "--use-fused-weighted-squared-relu --fused-residual-rmsnorm --mlp-chunks-for-training="},
    {"a GPU always replays steps from CUDA graphs",
     "--cuda-graph-impl= --cuda-graph-modules=* --cuda-graph-scope=* --cuda-graph-warmup-steps= --enable-cuda-graph "
     "--external-cuda-graph --optimizer-cuda-graph"},
    {"--optimizer-cpu-offload moves only optimizer state, through pinned memory, and the GPU computes the update",
     "--no-pin-cpu-grads --no-pin-cpu-params --use-torch-optimizer-for-cpu-offload"},
    {"the plan determines how many transfers run at once",
     "--delay-offload-until-cuda-graph --fine-grained-offloading-max-inflight-offloads="},
    {"--exp-avg-dtype, --exp-avg-sq-dtype and --main-grads-dtype need no other flag",
     "--use-precision-aware-optimizer"},
    {"the plan determines when gradients and weights are sent, which does not change results",
     "--delay-grad-reduce --no-delay-grad-reduce --delay-param-gather --no-align-grad-reduce "
     "--no-align-param-gather --ddp-num-buckets= --ddp-pad-buckets-for-high-nccl-busbw "
     "--overlap-param-gather-with-optimizer-step --use-contiguous-buffers-in-ddp "
     "--no-contiguous-buffers-in-local-ddp --create-all-gather-group --DDP-impl="},
    {"--tp-comm-overlap chooses what overlaps a product",
     "--tp-comm-overlap-cfg= --tp-comm-overlap-rs-dgrad --tp-comm-bootstrap-backend= --no-tp-comm-bulk-dgrad "
     "--no-tp-comm-bulk-wgrad --no-tp-comm-overlap-ag --no-tp-comm-overlap-rs --no-tp-comm-split-ag "
     "--no-tp-comm-split-rs --no-async-tensor-model-parallel-allreduce --no-clone-scatter-output-in-embedding"},
    {"transfers between stages always overlap computation",
     "--no-overlap-p2p-communication --overlap-p2p-communication --overlap-p2p-communication-warmup-flush "
     "--no-scatter-gather-tensors-in-pipeline --use-ring-exchange-p2p --pipeline-model-parallel-comm-backend="},
    {"layers are divided evenly among stages: --pipeline-model-parallel-layout gives another division",
     "--pp-partition-method="},
    {"kept activations are in one arena, and each layer is recomputed separately",
     "--contigious-checkpointing --synchronize-each-layer --profile-backward"},
    {"--pipeline-schedule zero-bubble delays weight gradients",
     "--defer-embedding-wgrad-compute --wgrad-deferral-limit= --delay-wgrad-compute"},
    {"ranks find each other by the launcher's environment, and the program chooses transports",
     "--distributed-backend= --distributed-timeout-seconds-after-init= --disable-gloo-process-groups --local-rank= "
     "--local_rank= --lazy-mpu-init --nccl-communicator-config-path= --high-priority-stream-groups=* --use-sharp "
     "--sharp-enabled-group= --use-nccl-ub --disable-symmetric-registration --symmetric-ar-type="},
    {"the order of ranks is fixed: tensor, context, data, pipeline", "--use-tp-pp-dp-mapping"},
    {"the optimizer's state is split over all data-parallel ranks, as one instance",
     "--num-distributed-optimizer-instances="},
    {"copies of a parameter on tensor-parallel ranks have the same gradients", "--sync-tp-duplicated-parameters"},
    {"--ckpt-format chooses: native, or torch_dist, which Megatron-LM reads",
     "--use-dist-ckpt --dist-ckpt-format= --dist-ckpt-save-pre-mcore-014"},
    {"any layout reads a checkpoint, which must have all of the model's tensors",
     "--ckpt-fully-parallel-load --ckpt-fully-parallel-load-exchange-algo= "
     "--ckpt-fully-parallel-load-per-rank-objects --ckpt-fully-parallel-load-process-group= "
     "--ckpt-fully-parallel-save-process-group= --ckpt-assume-constant-structure "
     "--dist-ckpt-optim-fully-reshardable --distrib-optim-fully-reshardable-mem-efficient "
     "--ckpt-pg-tensors-cache-path= --ckpt-pg-tensors-cache-create --no-save-tokenizer-assets "
     "--dist-ckpt-strictness= --no-ckpt-load-validate-sharding-integrity --ckpt-drop-redundant-extra-state "
     "--no-stream-ckpt-dequant --no-strict-fsdp-dtensor-load --auto-detect-ckpt-format "
     "--use-mp-args-from-checkpoint-args --ckpt-convert-update-legacy-dist-opt-format --verify-integrity"},
    {"without --num-layers the model is that of --load; with it, loading checks that they agree",
     "--use-checkpoint-args --no-use-tokenizer-model-from-checkpoint-args"},
    {"SIGTERM, or another --exit-signal, always saves and exits",
     "--exit-signal-handler --exit-signal-handler-for-training --exit-signal-handler-for-dataloader "
     "--adlr-autoresume --adlr-autoresume-interval= --kill-switch-path= --trigger-path="},
    {"threads of the run write for --async-save",
     "--async-strategy= --use-persistent-ckpt-worker --non-persistent-local-ckpt-algo= --async-ckpt-cpu-priority= "
     "--async-ckpt-io-priority= --async-ckpt-use-cpu-shm"},
    {"datasets are memory-mapped and their indices are made in one pass",
     "--no-mmap-bin-files --dataloader-fast-cache-load --dataloader-defer-npy-index-mmap "
     "--num-dataset-builder-threads= --valid-num-workers= --mmap-warmup --per-dataset-sequences-path="},
    {"there is one implementation of each tokenizer, and code from files is never run",
     "--trust-remote-code --tokenizer-hf-no-use-fast --tokenizer-hf-use-fast --legacy-tokenizer --use-gigatoken "
     "--tokenizer-metadata= --tokenizer-hf-include-special-tokens"},
    {"there is no garbage collector and no caching allocator here",
     "--manual-gc --manual-gc-interval= --no-manual-gc-eval --train-sync-interval= --empty-unused-memory-level= "
     "--record-memory-history --memory-snapshot-path="},
    {"each rank takes its times without waiting for others", "--no-barrier-with-level-1-timing"},
    {"it is always written to TensorBoard", "--log-batch-size-to-tensorboard --log-learning-rate-to-tensorboard"},
    {"it is written to TensorBoard all the same",
     "--no-log-learnig-rate-to-tensorboard --no-log-learning-rate-to-tensorboard --no-log-loss-scale-to-tensorboard"},
    {"this is not written to TensorBoard or to the log yet",
     "--log-memory-interval= --log-device-memory-used "
     "--log-energy --codecarbon-dir= --log-progress --log-max-attention-logit --dump-param-to-param-group-map="},
    {"TensorBoard files are written event by event, and settings to the log",
     "--tensorboard-queue-size= --config-logger-dir="},
    {"nothing is sent to other services: use --prometheus-port, --wandb-project, --tensorboard-dir or --metrics-file",
     "--structured-logs --structured-logs-dir= --log-level-replica= --otel-enabled --otel-service-name= "
     "--otel-span-groups= --one-logger-async --one-logger-entity= --one-logger-project= --one-logger-run-name= "
     "--no-one-logger --enable-one-logger --app-tag-run-name= --app-tag-run-version= "
     "--run-workload-inspector-server"},
    {"there is no control port: --log-straggler reports with every log line", "--straggler-ctrlr-port="},
    {"nsys records the steps of --profile on all ranks, with a range for each operation",
     "--profile-ranks=* --nvtx-ranges --record-shapes --use-pytorch-profiler --pytorch-profiler-collect-callstack "
     "--pytorch-profiler-collect-chakra --pytorch-profiler-collect-shapes"},
    {"both are always checked, by --spike-threshold", "--check-for-spiky-loss --check-for-large-grads"},
    {"a rank that fails or hangs ends the run with a line, and a restart resumes from the last checkpoint",
     "--enable-ft-package --calc-ft-timeouts --ft-num-warmup-iters= --inprocess-restart "
     "--inprocess-active-world-size= --inprocess-barrier-timeout= --inprocess-completion-timeout= "
     "--inprocess-empty-cuda-cache --inprocess-granularity= --inprocess-hard-timeout= "
     "--inprocess-heartbeat-interval= --inprocess-heartbeat-timeout= --inprocess-last-call-wait= "
     "--inprocess-max-iterations= --inprocess-monitor-process-interval= --inprocess-monitor-thread-interval= "
     "--inprocess-progress-watchdog-interval= --inprocess-soft-timeout= --inprocess-termination-grace-time= "
     "--flight-recorder-dump-path= --flight-recorder-include-stack-trace --flight-recorder-trace-buffer-size= "
     "--no-flight-recorder-dump-on-timeout --no-flight-recorder-extra-dump-on-exec "
     "--no-flight-recorder-include-only-active --gpu-sniff-test-interval="},
    {"each rank updates unsplit matrices in one layout, and symmetric products have no special kernel",
     "--muon-use-syrk --no-use-layer-wise-param-layout"},
    {"it is for another kind of positions", "--mrope-section=*"},
    {"it is for serving: training does not read it",
     "--flash-decode --use-legacy-static-engine --max-tokens-to-oom= --enable-chunked-prefill "
     "--disable-chunked-prefill --num-speculative-tokens= --decode-only-cuda-graphs "
     "--inference-batch-times-seqlen-threshold= --inference-coordinator-port= --inference-cuda-graph-all-prefills "
     "--inference-cuda-graph-max-tokens= --inference-cuda-graph-scope= --inference-disable-ep-consensus "
     "--inference-disable-triton-nvls-kernels --inference-dynamic-batching "
     "--inference-dynamic-batching-async-sched-mode= --inference-dynamic-batching-block-size= "
     "--inference-dynamic-batching-buffer-guaranteed-fraction= --inference-dynamic-batching-buffer-overflow-factor= "
     "--inference-dynamic-batching-buffer-size-gb= --inference-dynamic-batching-chunk-size= "
     "--inference-dynamic-batching-cuda-graph-max-tokens= "
     "--inference-dynamic-batching-cuda-graph-mixed-prefill-count= "
     "--inference-dynamic-batching-cuda-graph-sizing-distribution= --inference-dynamic-batching-logprobs-mode= "
     "--inference-dynamic-batching-mamba-memory-ratio= --inference-dynamic-batching-max-requests= "
     "--inference-dynamic-batching-max-requests-override= --inference-dynamic-batching-max-tokens= "
     "--inference-dynamic-batching-max-tokens-override= --inference-dynamic-batching-num-cuda-graphs= "
     "--inference-dynamic-batching-paused-buffer-size-gb= --inference-dynamic-batching-prefix-caching "
     "--inference-dynamic-batching-prefix-caching-coordinator-policy= "
     "--inference-dynamic-batching-prefix-caching-eviction-policy= "
     "--inference-dynamic-batching-prefix-caching-mamba-gb= "
     "--inference-dynamic-batching-prefix-caching-routing-alpha= --inference-dynamic-batching-sampling-backend= "
     "--inference-dynamic-batching-track-generated-token-events "
     "--inference-dynamic-batching-track-paused-request-events --inference-dynamic-batching-unified-memory-level= "
     "--inference-fuse-tp-communication --inference-grouped-gemm-backend= --inference-logging-step-interval= "
     "--inference-max-batch-size= --inference-max-requests= --inference-max-seq-length= "
     "--inference-moe-disable-fused-quant-kernels --inference-moe-token-dispatcher-type= --inference-shards= "
     "--inference-text-gen-server-logging --inference-use-synchronous-zmq-collectives --inference-wandb-logging "
     "--no-inference-disable-ep-consensus --no-inference-dynamic-batching-prefix-caching "
     "--no-inference-text-gen-server-logging --no-inference-use-synchronous-zmq-collectives "
     "--no-inference-wandb-logging --mlp-chunks-for-prefill= --nccl-all-reduce-for-prefill --output-bert-embeddings "
     "--onnx-safe= --use-same-sampling-seed-across-dp-ranks --cache-mla-latents --bert-embedder-type="},
    {"it is for models of images, and for retrieval",
     "--dino-bottleneck-size= --dino-freeze-last-layer= --dino-head-hidden-size= --dino-local-crops-number= "
     "--dino-local-img-size= --dino-norm-last-layer --dino-teacher-temp= --dino-warmup-teacher-temp= "
     "--dino-warmup-teacher-temp-epochs= --img-dim= --img-h= --img-w= --num-channels= --num-classes= --patch-dim= "
     "--swin-backbone-type= --vision-backbone-type= --vision-pretraining --vision-pretraining-type= "
     "--iter-per-epoch= --classes-fraction= --data-per-class-fraction= --head-lr-mult= --mask-type= --mask-factor= "
     "--biencoder-projection-dim= --biencoder-shared-query-context-model --ict-head-size= --ict-load= "
     "--retriever-report-topk-accuracies=* --retriever-score-scaling --retriever-seq-length= --bert-load= "
     "--block-data-path= --embedding-path= --evidence-data-path= --titles-data-path= --query-in-block-prob= "
     "--use-one-sent-docs --indexer-batch-size= --indexer-log-interval= --faiss-use-gpu --report-topk-accuracies=* "
     "--sample-rate= --test-mode"},
};

std::span<const Row> accepted() { return kAccepted; }

}  // namespace megalith::megatron
