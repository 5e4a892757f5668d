// Lines that break a rule about mixtures of experts.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_experts() {
  const std::string mixture = "--disable-bias-linear --num-experts 4 ", ranks = mixture + "--dry-run --world-size ";
  return {
      {"a token has no more experts than there are",
       {mixture + "--moe-router-topk 5", "--moe-router-topk 5 is more than --num-experts 4: lower it"}},
      {"the router of one expert a token learns",
       {mixture + "--moe-router-topk 1",
        "--moe-router-topk 1 gives each expert the weight 1, and the router learns nothing: add "
        "--moe-router-pre-softmax"}},
      {"moe-layer-freq tells of each layer", {mixture + "--moe-layer-freq 0", "--moe-layer-freq 0: want 1 or more"}},
      {"moe-layer-freq tells of each layer",
       {mixture + "--moe-layer-freq ([0]*1+[1]*2)",
        "--moe-layer-freq ([0]*1+[1]*2) is of 3 layers, and --num-layers is 2: make them equal"}},
      {"moe-layer-freq tells of each layer",
       {mixture + "--moe-layer-freq [1]*",
        "--moe-layer-freq '[1]*': want a number, or a list of 0 and 1 as ([0]*3+[1]*58)"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 2",
        "--moe-router-num-groups and --moe-router-group-topk come together: give both"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 3 --moe-router-group-topk 1",
        "--num-experts 4 is not divisible by --moe-router-num-groups 3: change one"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 2 --moe-router-group-topk 3",
        "--moe-router-group-topk 3 is more than --moe-router-num-groups 2: lower it"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 2 --moe-router-group-topk 1 --moe-router-topk 3",
        "--moe-router-topk 3 is more than the 2 experts of --moe-router-group-topk 1: raise the latter"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 4 --moe-router-group-topk 3",
        "--moe-router-topk 2 is less than --moe-router-group-topk 3, so no expert makes a group's score: lower the "
        "latter, or give --moe-router-group-best"}},
      {"groups of experts fit",
       {mixture + "--moe-router-num-groups 2 --moe-router-group-topk 2 --moe-router-group-best 3",
        "a group's score is of 3 experts, and --moe-router-num-groups 2 leaves 2 in a group: lower it"}},
      {"what is asked of a mixture is built",
       {mixture + "--moe-latent-size 8", "--moe-latent-size is not built yet: leave it out"}},
      {"shared experts have no biases",
       {"--num-experts 4 --moe-shared-expert-intermediate-size 8",
        "--moe-shared-expert-intermediate-size: shared experts have no biases: add --disable-bias-linear"}},
      {"layers with experts have one norm before them",
       {mixture + "--parallel-residual", "--parallel-residual with --num-experts is not built yet: leave one out"}},
      {"layers with experts have one norm before them",
       {mixture + "--norm-block-output", "--norm-block-output with --num-experts is not built yet: leave one out"}},
      {"the gate of a shared expert comes with one",
       {mixture + "--moe-shared-expert-gate",
        "--moe-shared-expert-gate has no effect without --moe-shared-expert-intermediate-size"}},
      {"expert parallelism comes with experts",
       {"--dry-run --world-size 2 --expert-model-parallel-size 2",
        "--expert-model-parallel-size 2 shares out experts and there are none: give --num-experts, or 1"}},
      {"num-experts is a multiple of the expert-parallel size",
       {ranks + "3 --expert-model-parallel-size 3",
        "--num-experts 4 is not divisible by --expert-model-parallel-size 3: change one"}},
      {"an expert's width is a multiple of the expert-tensor-parallel size",
       {ranks + "2 --expert-tensor-parallel-size 2 --moe-ffn-hidden-size 3",
        "the width of an expert, 3, is not divisible by --expert-tensor-parallel-size 2: change one"}},
      {"the shared expert's width is a multiple of the tensor-parallel size",
       {ranks + "2 --tensor-model-parallel-size 2 --sequence-parallel --moe-shared-expert-intermediate-size 5",
        "--moe-shared-expert-intermediate-size 5 is not divisible by --tensor-model-parallel-size 2: change one"}},
      {"experts with tensor parallelism come with sequence-parallel",
       {ranks + "2 --tensor-model-parallel-size 2",
        "--num-experts with --tensor-model-parallel-size 2 needs each token on one rank: add --sequence-parallel"}},
      {"the ranks of experts fit those of attention",
       {ranks + "4 --context-parallel-size 4 --expert-model-parallel-size 2",
        "--expert-model-parallel-size 2 cuts --context-parallel-size 4 apart, whose ranks each hold two chunks of a "
        "sequence: choose sizes so that all or none of the context-parallel ranks share experts"}},
      {"the ranks of experts fit those of attention",
       {ranks + "6 --tensor-model-parallel-size 2 --sequence-parallel --expert-tensor-parallel-size 3 --num-experts 4 "
                "--moe-ffn-hidden-size 12",
        "expert parallelism etp 3 x ep 1 cuts across tp 2 x cp 1 x dp 3: etp 2 or 6 would fit with ep 1"}},
      {"the optimizer takes experts",
       {mixture + "--optimizer muon",
        "--optimizer muon is not built for experts yet, whose matrices lie in one weight: use adam"}},
  };
}

}  // namespace megalith
