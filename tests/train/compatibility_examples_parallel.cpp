// Command lines that break a rule about parallelism.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_parallel() {
  return {
      {"parallel sizes are at least 1",
       {"--context-parallel-size 0", "--context-parallel-size 0 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1",
       {"--tensor-model-parallel-size -2", "--tensor-model-parallel-size -2 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1", {"--dry-run --world-size 0", "--world-size 0 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1",
       {"--tensor-model-parallel-size 9223372036854775807",
        "--tensor-model-parallel-size 9223372036854775807 is out of range: give 1 or more"}},
      {"world-size comes with dry-run",
       {"--world-size 2", "--world-size is for --dry-run: in a run the launcher says how many ranks there are"}},
      {"a device that is not present comes with dry-run",
       {"--device h100", "--device h100: want auto, cpu or cuda; only --dry-run plans for a device that is not here"}},
      {"offloaded activations have one backward",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble "
        "--fine-grained-activation-offloading",
        "--fine-grained-activation-offloading saves little with --pipeline-schedule zero-bubble, whose weight "
        "gradients "
        "keep what was fetched: leave one out"}},
      {"the number of ranks is a multiple of tensor x pipeline x context",
       {"--tensor-model-parallel-size 2",
        "1 ranks are not divisible by tensor 2 x pipeline 1 x context 1 = 2: start a multiple of 2 ranks, or change "
        "a "
        "size"}},
      {"the number of ranks is a multiple of tensor x pipeline x context",
       {"--dry-run --world-size 6 --tensor-model-parallel-size 2 --context-parallel-size 2",
        "6 ranks are not divisible by tensor 2 x pipeline 1 x context 2 = 4: start a multiple of 4 ranks, or change "
        "a "
        "size"}},
      {"num-attention-heads is a multiple of the tensor-parallel size",
       {"--dry-run --world-size 8 --tensor-model-parallel-size 8",
        "--num-attention-heads 4 is not a multiple of --tensor-model-parallel-size 8: use 4 or another divisor of "
        "the "
        "heads"}},
      {"num-query-groups is a multiple or divisor of the tensor-parallel size",
       {"--dry-run --world-size 6 --tensor-model-parallel-size 6 --num-attention-heads 12 --hidden-size 48 "
        "--num-query-groups 4",
        "--num-query-groups 4 is neither a multiple nor a divisor of --tensor-model-parallel-size 6: use 2 for the "
        "latter"}},
      {"ffn-hidden-size is a multiple of the tensor-parallel size",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 4 --ffn-hidden-size 6",
        "--ffn-hidden-size 6 is not a multiple of --tensor-model-parallel-size 4: use 2 for the latter"}},
      {"seq-length is a multiple of 2 x context-parallel size",
       {"--dry-run --world-size 5 --context-parallel-size 5",
        "--seq-length 32 is not a multiple of 2 x --context-parallel-size 5: each rank takes two chunks; use a "
        "--seq-length of 40"}},
      {"with sequence-parallel, seq-length is a multiple of tensor x context",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 4 --seq-length 34 --sequence-parallel",
        "--sequence-parallel: --seq-length 34 is not a multiple of tensor 4 x context 1 = 4 ranks: change one"}},
      {"with cp-comm-type a2a, a rank's KV groups are a multiple of the context-parallel size",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 2 --context-parallel-size 2 --num-query-groups 2 "
        "--cp-comm-type a2a",
        "--cp-comm-type a2a splits the 1 KV groups of a tensor-parallel rank over --context-parallel-size 2, which "
        "does not divide: use all_gather"}},
      {"interleaving is given in one way",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
        "--num-layers-per-virtual-pipeline-stage 1 --num-layers 4 --global-batch-size 8",
        "--num-layers-per-virtual-pipeline-stage 1 and --num-virtual-stages-per-pipeline-rank 2 say the same: give "
        "one"}},
      {"stages are given by a layout text or by numbers",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et|tL --num-layers "
        "2 "
        "--decoder-last-pipeline-num-layers 1",
        "--pipeline-model-parallel-layout says all about the stages: leave out --decoder-last-pipeline-num-layers"}},
      {"layers and micro-batches fit the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et|tL --num-layers "
        "4",
        "--pipeline-model-parallel-layout 'Et|tL' has 2 layers (t), --num-layers is 4: they must agree"}},
      {"layers and micro-batches fit the pipeline",
       {"--pipeline-model-parallel-layout Et|tL --num-layers 2",
        "2 virtual stages a rank need at least 2 pipeline stages, there is 1: raise the pipeline size or take 1 "
        "virtual "
        "stage"}},
      {"layers and micro-batches fit the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 3",
        "3 layers do not divide by 2 pipeline stages: --pipeline-model-parallel-layout auto shares them out, or take a "
        "multiple, --decoder-first-pipeline-num-layers or --decoder-last-pipeline-num-layers"}},
      {"layers and micro-batches fit the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 --global-batch-size 6 "
        "--num-virtual-stages-per-pipeline-rank 2",
        "3 micro-batches in groups of 2 leave a last group of 1, fewer than the 2 pipeline stages: choose a group "
        "or "
        "batch size that leaves none or at least 2"}},
      {"layers and micro-batches fit the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 --global-batch-size 8 "
        "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 5",
        "groups of 5 micro-batches a virtual stage: choose from 2 (pipeline stages) to 4 (micro-batches)"}},
      {"microbatch-group-size-per-virtual-pipeline-stage comes with virtual stages",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 "
        "--microbatch-group-size-per-virtual-pipeline-stage 2",
        "--microbatch-group-size-per-virtual-pipeline-stage 2 has no effect where a rank has one piece of the model: "
        "leave it out"}},
      {"a step has as many micro-batches as pipeline stages",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2",
        "a step has 1 micro-batch for 2 pipeline stages, so stages wait for most of it: raise --global-batch-size 2 to "
        "16 or more"}},
      {"flags about ranks that share work come with several ranks",
       {"--tp-comm-overlap", "--tp-comm-overlap has no effect with --tensor-model-parallel-size 1"}},
      {"flags about ranks that share work come with several ranks",
       {"--virtual-pipeline-model-parallel-size 2",
        "--num-virtual-stages-per-pipeline-rank has no effect with --pipeline-model-parallel-size 1"}},
      {"flags about ranks that share work come with several ranks",
       {"--overlap-grad-reduce --use-distributed-optimizer",
        "--use-distributed-optimizer, --overlap-grad-reduce: no effect where no ranks share a weight's gradient"}},
      {"overlap-param-gather comes with use-distributed-optimizer",
       {"--dry-run --world-size 2 --overlap-param-gather",
        "--overlap-param-gather has no effect without --use-distributed-optimizer: each rank updates all weights "
        "itself"}},
      {"sequence-parallel comes with tensor parallelism",
       {"--sequence-parallel", "--sequence-parallel has no effect with --tensor-model-parallel-size 1"}}};
}

}  // namespace megalith
