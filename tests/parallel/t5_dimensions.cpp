#include "tests/parallel/dimensions.h"

namespace megalith::parity {

#define T5 "--architecture t5 --mock-data --decoder-seq-length 24 "
#define RELATIVE \
  "--position-embedding-type relative --relative-attention-num-buckets 8 --relative-attention-max-distance 12 "

// The encoder and the decoder have four layers each. Their border is between two stages or inside one.
const std::vector<Dimension>& t5_dimensions() {
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
        {"cp2-ring", "--context-parallel-size 2 --cp-comm-type p2p", 2}}},
      {false,
       {{"pp1", ""},
        {"pp2", "--pipeline-model-parallel-size 2", 2},
        {"pp2-zb", "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble", 2},
        {"pp2-border", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Ee*3|eEd*4L", 2},
        {"pp2-vp2", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 2},
        {"pp2-vp2-zb",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble",
         2},
        {"pp2-vp3", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E|ee||eeEd|ddd|L", 2},
        {"pp3-e1", "--encoder-pipeline-model-parallel-size 1 --pipeline-model-parallel-size 2", 3},
        {"pp3-border", "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout Eee|eeEd|dddL", 3},
        {"pp4", "--pipeline-model-parallel-size 4", 4},
        {"pp4-zb", "--pipeline-model-parallel-size 4 --pipeline-schedule zero-bubble", 4},
        {"pp4-drawn", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout E|e*4|Eddd|dL", 4},
        {"pp4-auto", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout auto", 4},
        {"pp5-head", "--pipeline-model-parallel-size 5 --pipeline-model-parallel-layout Eee|ee|Ed|ddd|L", 5}}},
      {false, {{"dp1", ""}, {"dp2", "", 2}, {"dp4", "", 4}}},
      {false, {{"sp-off", ""}, {"sp", "--sequence-parallel"}}},
      sums_of_gradients(),
      micro_batches(),
      {false,
       {{"keep", ""},
        {"again-parts", "--recompute-granularity selective --recompute-modules mlp layernorm"},
        {"again-layers", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"}}},
      {true, {{"tied", ""}, {"untied", "--untie-embeddings-and-output-weights"}}},
      {true,
       {{"no-drop", ""},
        {"hidden-drop", "--hidden-dropout 0.1"},
        {"both-drop", "--hidden-dropout 0.1 --attention-dropout 0.1"}}},
      {true,
       {{"t5", T5},
        {"t5-relative", T5 RELATIVE "--normalization RMSNorm --disable-bias-linear --geglu"},
        {"t5-v10", T5 RELATIVE "--normalization RMSNorm --disable-bias-linear --no-head-bias --scale-decoder-outputs "
                               "--unscaled-attention"},
        {"t5-rope", T5 "--position-embedding-type rope --swiglu"}}},
  };
  return all;
}

#undef RELATIVE
#undef T5

}  // namespace megalith::parity
