// Megatron's flags for models and precisions that are not built.
#include "settings/megatron_rows.h"

namespace megalith::megatron {

constexpr Feature kOfModel[] = {
    {"this part of fp8 and fp4 is not built yet",
     "--te-precision-config-file= --kitchen-config-file= --kitchen-recipe-number= --use-kitchen-attention",
     "--fp4-param-gather --fp8-quantizer-factory= --fp4-quantizer-factory= "
     "--reuse-grad-buf-for-mxfp8-param-ag --keep-fp8-transpose-cache "
     "--keep-fp8-transpose-cache-when-using-custom-fsdp --kitchen-attention-backend= "
     "--moe-router-padding-for-quantization --moe-router-padding-for-fp8",
     "--fp8-format --fp4-format"},
    {"experts' tokens are sent in the precision of activations: leave it out, or give bf16",
     "--moe-dispatch-fwd-dtype=bf16 --moe-combine-bwd-dtype=bf16", "", ""},
    {"this part of a mixture of experts is not built yet",
     "--moe-paged-stash --moe-enable-routing-replay "
     "--moe-routing-trace-path= --moe-extended-tp "
     "--moe-mlp-glu-interleave-size= --moe-shared-expert-glu-interleave-size= "
     "--moe-pad-experts-for-cuda-graph-inference --create-moe-param-group "
     "--moe-router-quantile-balancing-ema=0|0.0 --moe-expert-int-list=* --moe-expert-per-list=* --topk= --mlp-type= "
     "--moe-token-dropping --moe-train-capacity-factor= --moe-eval-capacity-factor= --moe-min-capacity= "
     "--moe-loss-coeff= --num-experts-teacher=* --enable-shared-expert --shared-moe-ffn-hidden-size= "
     "--expert-tensor-parallel-num-weight-shards=",
     "--moe-paged-stash-buffer-size-factor-cpu= "
     "--moe-paged-stash-buffer-size-factor-cuda= --moe-paged-stash-page-size= "
     "--moe-routing-trace-capture-hidden-states "
     "--moe-routing-trace-capture-logits --moe-routing-trace-dump-weights --moe-routing-trace-max-training-iters=",
     ""},
    {"multi-token prediction has only modules of the last layer's kind, trained with the model",
     "--mtp-standalone --mtp-hsm --freeze-base-for-mtp",
     "--mtp-hybrid-override-pattern= --qad-train-target=", "--mtp-num-layers"},
    {"qk-clip is not built yet", "--qk-clip", "--qk-clip-alpha= --qk-clip-threshold=", ""},
    {"layers without rope are not built yet", "--no-rope-freq=", "", ""},
    {"this variant of a layer is not built yet",
     "--activation-func-clamp-value= --glu-linear-offset=0|0.0 --qk-l2-norm "
     "--softmax-type=vanilla --attention-output-gate --apply-residual-connection-post-layernorm "
     "--output-logit-dtype= --freeze-all-layers --embedding-weights-in-fp32 "
     "--batch-invariant-mode --enable-gpt-oss",
     "--batch-invariant-backend=", ""},
    {"the gated activations are --swiglu, --geglu (by tanh) and --quick-geglu", "--glu-activation=", "", ""},
    {"--num-query-groups 1 gives one query group", "--attention-head-type=multihead", "", ""},
    {"for biases of only q, k and v give --add-qkv-bias with --disable-bias-linear",
     "--disable-bias-linear-fc --disable-bias-attn-fc", "", ""},
    {"--rotary-base gives the base of longer rope, --rotary-seq-len-interpolation-factor divides positions",
     "--rotary-scale-factor=1|1.0", "", ""},
    {"positions in two dimensions (ChatGLM) are not built yet", "--position-encoding-2d", "", ""},
    {"windows that differ from layer to layer are not built yet", "--window-attn-skip-freq=", "", ""},
    {"layers described by other files are not read",
     "--spec=*local --heterogeneous-layers-config-path= --heterogeneous-layers-config-encoded-json=", "", ""},
    {"hyper-connections are not built yet", "--enable-mhc-connections",
     "--mhc-init-gating-factor= --mhc-num-residual-streams= --mhc-recompute-layer-num= --mhc-sinkhorn-iterations=", ""},
    {"state-space, linear-attention and hybrid layers are not built yet",
     "--hybrid-layer-pattern= --hybrid-override-pattern= --hybrid-attention-ratio=0|0.0 --hybrid-mlp-ratio=0|0.0 "
     "--is-hybrid-model --experimental-attention-variant= --linear-attention-freq=",
     "--disable-mamba-mem-eff-path --mamba-head-dim= --mamba-inference-conv-states-dtype= "
     "--mamba-inference-ssm-states-dtype= --mamba-int-list=* "
     "--mamba-num-groups= --mamba-num-heads= --mamba-per-list=* --mamba-state-dim= "
     "--mamba-training-ssm-states-dtype= --gdp-cutedsl-kernel --gdp-num-chunk-states-to-recompute= "
     "--gdp-num-householder= --linear-conv-kernel-dim= --linear-key-head-dim= --linear-num-key-heads= "
     "--linear-num-value-heads= --linear-scaler-end= --linear-scaler-start= --linear-value-head-dim= "
     "--dsa-indexer-head-dim= --dsa-indexer-k-norm-epsilon= --dsa-indexer-k-norm-fp32 --dsa-indexer-loss-coeff= "
     "--dsa-indexer-n-heads= --dsa-indexer-rope-interleaved --dsa-indexer-skip-topk-offset= --dsa-indexer-topk= "
     "--dsa-indexer-topk-freq= --dsa-indexer-use-sparse-loss --dsa-kernel-backend= "
     "--no-dsa-indexer-rotate-activation --no-dsa-indexer-scoring-relu",
     ""},
    {"an encoder on separate ranks is given by --encoder-pipeline-model-parallel-size, with the decoder's "
     "tensor-parallel size",
     "--encoder-tensor-model-parallel-size=0 --pipeline-model-parallel-split-rank=", "", ""},
    {"this part of retrieval in the model (RETRO) is not built",
     "--retro-attention-gate=1|1.0 --retro-cyclic-train-iters= --retro-no-verify-neighbor-count "
     "--retro-return-doc-ids --retro-workdir=",
     "", ""},
};

std::span<const Feature> missing_of_model() { return kOfModel; }

}  // namespace megalith::megatron
