#include "tests/parallel/dimensions.h"

namespace megalith::parity {

const std::vector<Dimension>& bert_dimensions() {
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
        {"cp4", "--context-parallel-size 4", 4}}},
      {false,
       {{"pp1", ""},
        {"pp2", "--pipeline-model-parallel-size 2", 2},
        {"pp2-zb", "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble", 2},
        {"pp2-vp2", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 2},
        {"pp2-vp2-zb",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble",
         2},
        {"pp4-drawn", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et|t*2|t|L", 4},
        {"pp4", "--pipeline-model-parallel-size 4", 4}}},
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
       {{"bert", "--architecture bert --mock-data"},
        {"bert-one", "--architecture bert --mock-data --bert-no-binary-head"},
        {"bert-post", "--architecture bert --mock-data --bert-post-norm --embedding-layernorm --gelu"},
        {"bert-llama",
         "--architecture bert --mock-data --normalization RMSNorm --swiglu --num-query-groups 4 --qk-layernorm"}}},
  };
  return all;
}

}  // namespace megalith::parity
