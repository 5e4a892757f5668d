#include "tests/parallel/dimensions.h"

namespace megalith::parity {

Dimension sums_of_gradients() {
  return {false,
          {{"plain", ""},
           {"overlap", "--overlap-grad-reduce"},
           {"distopt", "--use-distributed-optimizer"},
           {"distopt-small", "--use-distributed-optimizer --ddp-bucket-size 4000"},
           {"distopt-overlap",
            "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 4000"}}};
}

Dimension micro_batches() { return {false, {{"micro1", "--micro-batch-size 1"}, {"micro2", "--micro-batch-size 2"}}}; }

const std::vector<Dimension>& dense_dimensions() {
  static const std::vector<Dimension> all = {
      {false,
       {{"tp1", ""},
        {"tp2", "--tensor-model-parallel-size 2", 2},
        {"tp4", "--tensor-model-parallel-size 4", 4},
        {"tp8", "--tensor-model-parallel-size 8", 8}}},
      {false,
       {{"cp1", ""},
        {"cp2", "--context-parallel-size 2", 2},
        {"cp2-a2a", "--context-parallel-size 2 --cp-comm-type a2a", 2},
        {"cp4", "--context-parallel-size 4", 4},
        {"cp4-a2a", "--context-parallel-size 4 --cp-comm-type a2a", 4},
        {"cp2-ring", "--context-parallel-size 2 --cp-comm-type p2p", 2},
        {"cp4-ring", "--context-parallel-size 4 --cp-comm-type p2p", 4},
        {"cp8-ring", "--context-parallel-size 8 --cp-comm-type p2p", 8}}},
      {false,
       {{"pp1", ""},
        {"pp2", "--pipeline-model-parallel-size 2", 2},
        {"pp2-zb", "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble", 2},
        {"pp2-vp2", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 2},
        {"pp2-vp2-zb",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble",
         2},
        {"pp2-uneven", "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 1", 2},
        {"pp2-vp2-group4",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
         "--microbatch-group-size-per-virtual-pipeline-stage 4",
         2},
        {"pp2-drawn", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E|tt|(t|)*2|L", 2},
        {"pp4-drawn", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et|t*2|t|L", 4},
        {"pp4-auto", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout auto", 4},
        {"pp4", "--pipeline-model-parallel-size 4", 4},
        {"pp4-zb", "--pipeline-model-parallel-size 4 --pipeline-schedule zero-bubble", 4}}},
      {false, {{"dp1", ""}, {"dp2", "", 2}, {"dp4", "", 4}}},
      {false, {{"sp-off", ""}, {"sp", "--sequence-parallel"}}},
      sums_of_gradients(),
      micro_batches(),
      {false,
       {{"keep", ""},
        {"again-parts", "--recompute-granularity selective --recompute-modules mlp layernorm"},
        {"again-layers", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"},
        {"again-block", "--recompute-granularity full --recompute-method block --recompute-num-layers 3"}}},
      {true,
       {{"groups8", ""},
        {"groups4", "--num-query-groups 4"},
        {"groups2", "--num-query-groups 2"},
        {"groups1", "--num-query-groups 1"}}},
      {true, {{"tied", ""}, {"untied", "--untie-embeddings-and-output-weights"}}},
      {true,
       {{"no-drop", ""},
        {"hidden-drop", "--hidden-dropout 0.1"},
        {"both-drop", "--hidden-dropout 0.1 --attention-dropout 0.1"}}},
      {true,
       {{"stream", ""},
        {"documents", "--reset-position-ids --reset-attention-mask --eod-mask-loss"},
        {"eod-mask", "--eod-mask-loss"}}},
      {true,
       {{"gpt2", ""},
        {"llama", "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear"},
        {"qwen",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias "
         "--qk-layernorm"},
        {"mtp",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --mtp-num-layers 2 "
         "--mtp-loss-scaling-factor 0.5"},
        {"mtp-again",
         "--position-embedding-type alibi --embedding-layernorm --mtp-num-layers 2 --mtp-use-repeated-layer "
         "--mtp-loss-scaling-factor 0.5"},
        {"neox", "--position-embedding-type rope --rotary-percent 0.5 --parallel-residual --sliding-window 5"},
        {"bloom", "--position-embedding-type alibi --embedding-layernorm"},
        {"gemma",
         "--position-embedding-type rope --geglu --normalization RMSNorm --disable-bias-linear --apply-layernorm-1p "
         "--scale-embedding"},
        // With the usual seed a gradient is a difference of nearly equal numbers. Rounding alone changes its norm by
        // 1e-5.
        {"olmo2",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --qk-layernorm "
         "--qk-layernorm-across-heads --norm-block-output --seed 8"}}},
  };
  return all;
}

}  // namespace megalith::parity
