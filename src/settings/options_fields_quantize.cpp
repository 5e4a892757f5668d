// The fields of products in fp8 and fp4.
#include "config/field.h"
#include "settings/options.h"

namespace megalith {

void list_fields(QuantizeConfig& c, config::FieldList& f) {
  f.group("fp8 and fp4");
  f.add("fp8-format", c.format, {"none", "hybrid", "e4m3", "e5m2"},
        "Products of linear layers in fp8: inputs and weights in e4m3, gradients in e5m2 (hybrid) or e4m3. Embedding, "
        "router and core attention stay in bf16, the head too without --fp8-head. Experts need the recipe delayed or "
        "tensorwise.");
  f.add("fp8-recipe", c.recipe, {"delayed", "tensorwise", "blockwise", "mxfp8", "custom"},
        "Values with one scale: a tensor (delayed: from past steps; tensorwise: from itself), blocks of 128, "
        "or blocks of 32 (mxfp8).");
  f.add("fp8-margin", c.margin, "delayed: scales leave room for values 2^this times larger than the history's.");
  f.add("fp8-amax-history-len", c.amax_history_len, "delayed: steps whose largest values are remembered.");
  f.add("fp8-amax-compute-algo", c.amax_algorithm, {"most_recent", "max"},
        "delayed: the scale follows from the newest of them, or from the largest.");
  f.add("fp4-format", c.fp4_format, {"none", "e2m1"}, "Products of linear layers in fp4.");
  f.add("fp4-recipe", c.fp4_recipe, {"nvfp4", "custom"}, "Values with one scale: blocks of 16, and the tensor.");
  f.add(
      "fp8-param-gather", c.gather_codes,
      "With --use-distributed-optimizer: ranks all-gather weights of linear layers as fp8 codes, during the forward.");
  f.add_on("fp8-wgrad", c.weight_gradients, "Compute weight gradients without fp8 or fp4.");
  f.add("fp8-head", c.head, {"none", "gradients", "all"},
        "An experiment: the head's two products of the backward in fp8 too, or also its logits (all). Faster, but the "
        "loss may be higher.");
  f.add("first-last-layers-bf16", c.ends_in_bf16, "Do not quantize the first and the last layers.");
  f.add("num-layers-at-start-in-bf16", c.layers_at_start, "With --first-last-layers-bf16: number of first layers.");
  f.add("num-layers-at-end-in-bf16", c.layers_at_end, "With --first-last-layers-bf16: number of last layers.");
}

}  // namespace megalith
