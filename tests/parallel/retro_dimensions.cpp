#include "tests/parallel/dimensions.h"

namespace megalith::parity {

#define RETRO \
  "--architecture retro --retro-add-retriever --num-layers 6 --retro-chunk-length 4 --max-position-embeddings 16 "

// The model has six layers. The last one attends to neighbours.
const std::vector<Dimension>& retro_dimensions() {
  static const std::vector<Dimension> all = {
      {false,
       {{"tp1", ""},
        {"tp2", "--tensor-model-parallel-size 2", 2},
        {"tp4", "--tensor-model-parallel-size 4", 4},
        {"tp8", "--tensor-model-parallel-size 8", 8}}},
      {false, {{"dp1", ""}, {"dp2", "", 2}, {"dp4", "", 4}, {"dp8", "", 8}}},
      sums_of_gradients(),
      micro_batches(),
      {true, {{"tied", ""}, {"untied", "--untie-embeddings-and-output-weights"}}},
      {true,
       {{"no-drop", ""},
        {"hidden-drop", "--hidden-dropout 0.1"},
        {"both-drop", "--hidden-dropout 0.1 --attention-dropout 0.1"},
        {"encoder-drop", "--retro-encoder-hidden-dropout 0.1 --retro-encoder-attention-dropout 0.1"}}},
      {true,
       {{"retro", RETRO},
        {"retro-llama", RETRO "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear "
                              "--retro-num-neighbors 3"},
        {"retro-no-norm", RETRO "--retro-no-final-layernorm --retro-encoder-layers 1 --retro-num-retrieved-chunks 3"},
        {"retro-nine", RETRO "--num-layers 9 --retro-num-neighbors 1"}}},
  };
  return all;
}

#undef RETRO

}  // namespace megalith::parity
