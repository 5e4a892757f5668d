// Command lines that break a rule about fp8 and fp4.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_quantize() {
  return {
      {"fp8 and fp4 exclude each other",
       {"--fp8-format hybrid --fp4-format e2m1", "--fp8-format and --fp4-format exclude each other: give one"}},
      {"fp8-format is hybrid or e4m3",
       {"--fp8 e5m2",
        "--fp8-format e5m2 has too few bits for weights and inputs: give hybrid, which has e5m2 for gradients, or "
        "e4m3"}},
      {"the recipe of fp8 or fp4 is built",
       {"--fp8-format hybrid --fp8-recipe custom",
        "--fp8-recipe custom takes quantizers from Python: give delayed, tensorwise, blockwise or mxfp8"}},
      {"the recipe of fp8 or fp4 is built",
       {"--fp4-format e2m1 --fp4-recipe custom", "--fp4-recipe custom takes quantizers from Python: give nvfp4"}},
      {"the history of delayed scaling is in range",
       {"--fp8-format hybrid --fp8-amax-history-len 0",
        "--fp8-amax-history-len 0 is out of range: from 1 to 65536 is wanted"}},
      {"the history of delayed scaling is in range",
       {"--fp8-format hybrid --fp8-margin -1", "--fp8-margin -1 is out of range: from 0 to 64 is wanted"}},
      {"first-last-layers-bf16 comes without delayed",
       {"--fp8-format hybrid --first-last-layers-bf16 --num-layers-at-end-in-bf16 0",
        "--first-last-layers-bf16 has no meaning with --fp8-recipe delayed, as in Megatron: give tensorwise or "
        "blockwise"}},
      {"delayed scaling comes without a loss scale",
       {"--fp8-format hybrid --fp16",
        "--fp8-recipe delayed is not built for --fp16: its history would be of gradients times a changing scale: give "
        "--fp8-recipe tensorwise, or only --bf16"}},
      {"first-last-layers-bf16 is of models with one stack",
       {"--architecture t5 --decoder-seq-length 32 --fp8-format hybrid --fp8-recipe tensorwise "
        "--first-last-layers-bf16 "
        "--num-layers-at-end-in-bf16 0",
        "--first-last-layers-bf16 is not built for a T5, which has two stacks: leave it out"}},
      {"fp8-param-gather comes with a layout that supports it",
       {"--use-distributed-optimizer --fp8-param-gather",
        "--fp8-param-gather is of training in fp8: give --fp8-format, or leave it out"}},
      {"fp8-param-gather comes with a layout that supports it",
       {"--fp8-format hybrid --bf16 --fp8-param-gather",
        "--fp8-param-gather is of an optimizer that is cut over ranks: give --use-distributed-optimizer, or leave it "
        "out"}},
      {"fp8-param-gather comes with a layout that supports it",
       {"--fp8-format e4m3 --fp8-recipe blockwise --bf16 --use-distributed-optimizer --fp8-param-gather",
        "--fp8-param-gather is not built for --fp8-recipe blockwise: give delayed or tensorwise"}},
      {"fp8 of experts has one scale for each tensor",
       {"--fp8-format e4m3 --fp8-recipe blockwise --num-experts 4",
        "--fp8-recipe blockwise is not built for --num-experts 4: give --fp8-recipe delayed or tensorwise"}},
      {"fp8 of experts has one scale for each tensor",
       {"--fp4-format e2m1 --num-experts 4",
        "--fp4-recipe nvfp4 is not built for --num-experts 4: give --fp8-format hybrid in place of --fp4-format, with "
        "--fp8-recipe delayed or tensorwise"}},
      {"fp8-param-gather comes with a layout that supports it",
       {"--fp8-format hybrid --bf16 --use-distributed-optimizer --fp8-param-gather --num-experts 4",
        "--fp8-param-gather is not built for --num-experts: leave it out"}},
      {"fp8 and fp4 have a query group for each tensor-parallel rank",
       {"--fp8-format hybrid --dry-run --world-size 4 --tensor-model-parallel-size 4 --group-query-attention "
        "--num-query-groups 2",
        "--fp8-format is not built for --tensor-model-parallel-size 4 above --num-query-groups 2, where gradients of "
        "keys are sums over ranks: give at most 2"}},
      {"codes of fp8 and fp4 are not offloaded",
       {"--fp8-format hybrid --fine-grained-activation-offloading",
        "--fine-grained-activation-offloading does not know codes of --fp8-format: leave one out"}},
      {"first-last-layers-bf16 leaves layers for fp8 or fp4",
       {"--fp8-format hybrid --fp8-recipe blockwise --first-last-layers-bf16",
        "--num-layers-at-start-in-bf16 1 and --num-layers-at-end-in-bf16 1 leave none of --num-layers 2 for "
        "--fp8-format: give smaller ones, from 0 on"}},
      {"flags about fp8 and fp4 come with a format",
       {"--fp8-recipe tensorwise", "--fp8-recipe has no effect without --fp8-format"}},
      {"flags about fp8 and fp4 come with a format",
       {"--fp4-format e2m1 --fp8-head all", "--fp8-head has no effect without --fp8-format"}},
      {"flags about fp8 and fp4 come with a format",
       {"--no-fp8-wgrad", "--no-fp8-wgrad has no effect without --fp8-format"}},
      {"flags about fp8 and fp4 come with a format",
       {"--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-margin 1",
        "--fp8-margin has no effect without --fp8-recipe delayed"}},
      {"flags about fp8 and fp4 come with a format",
       {"--fp8-format hybrid --num-layers-at-end-in-bf16 0",
        "--num-layers-at-end-in-bf16 has no effect without --first-last-layers-bf16"}},
      {"mxfp8 has gradients in e4m3",
       {"--fp8-format hybrid --fp8-recipe mxfp8",
        "--fp8-format hybrid with --fp8-recipe mxfp8: long runs with gradients in e5m2 diverged (arXiv 2506.08027); "
        "e4m3 did not"}},
      {"the device supports the recipe",
       {"--fp4-format e2m1",
        "--fp4-recipe nvfp4 is emulated: values are rounded to codes and multiplied in their own type"}},
  };
}

}  // namespace megalith
