// Old spellings of flags, and those of programs made from Megatron, with the words for them today.
#include "settings/megatron_rows.h"

namespace megalith::megatron {

constexpr Spelling kSpellings[] = {
    {"--yaml-cfg=", "--config"},
    {"--batch-size=", "--micro-batch-size"},
    {"--warmup=", "--lr-warmup-fraction"},
    {"--model-parallel-size=", "--tensor-model-parallel-size"},
    {"--encoder-seq-length=", "--seq-length"},
    {"--encoder-num-layers=", "--num-layers"},
    {"--max-seq-length=", "--seq-length"},
    {"--cpu-optimizer", "--optimizer-cpu-offload"},
    {"--checkpoint-activations", "--recompute-granularity full"},
    {"--deepspeed-activation-checkpointing", "--recompute-granularity full"},
    {"--checkpoint-method=", "--recompute-granularity full --recompute-method"},
    {"--checkpoint-num-layers=", "--recompute-num-layers"},
    {"--activations-checkpoint-method=", "--recompute-granularity full --recompute-method"},
    {"--activations-checkpoint-granularity=", "--recompute-granularity"},
    {"--activations-checkpoint-num-layers=", "--recompute-num-layers"},
    {"--enable-straggler-detection", "--log-straggler"},
    {"--dp-comm-overlap-bucket-size=", "--ddp-bucket-size"},
    {"--persistent-save-interval=", "--save-interval"},
    {"--override-lr-scheduler", "--override-opt-param-scheduler"},
    {"--use-checkpoint-lr-scheduler", "--use-checkpoint-opt-param-scheduler"},
    {"--disable-pad-vocab-size", "--no-pad-vocab-size"},
    {"--pad-vocab-size-to=", "--padded-vocab-size"},
    {"--embed-layernorm", "--embedding-layernorm"},
    {"--n-head-kv=", "--num-query-groups"},
    {"--use-llama2-rotary-position-embeddings", "--position-embedding-type rope"},
    {"--use-rotary-position-embedding", "--position-embedding-type rope"},
    {"--num-key-value-heads=", "--num-query-groups"},
    {"--ds-sequence-parallel-size=", "--cp-comm-type a2a --context-parallel-size"},
    {"--rotary-position-embeddings-theta=", "--rotary-base"},
    {"--enable-zbh1-pipeline", "--pipeline-schedule zero-bubble"},
    {"--tokenizer-name-or-path=", "--tokenizer-model"},
    {"--tokenizer-file=", "--tokenizer-model"},
    {"--fp8=", "--fp8-format"},
    {"--fp8-hybrid", "--fp8-format hybrid"},
    {"--fp8-e4m3", "--fp8-format e4m3"},
    {"--fp8-output-proj", "--fp8-head all"},
    {"--moe-layer-recompute", "--recompute-granularity selective --recompute-modules moe"},
    {"--use-alibi-mask", "--position-embedding-type alibi"},
};

constexpr Spelling kNearest[] = {
    {"--pretrained-checkpoint", "--finetune --load"},
    {"--patch-tokenizer-type", "--tokenizer-type HuggingFaceTokenizer"},
    {"--zero-stage", "--use-distributed-optimizer=true"},
    {"--cpu-offloading", "--optimizer-cpu-offload"},
    {"--train-data", "--train-data-path"},
    {"--valid-data", "--valid-data-path"},
};

std::span<const Spelling> nearest_words() { return kNearest; }

std::span<const Spelling> old_spellings() { return kSpellings; }

}  // namespace megalith::megatron
