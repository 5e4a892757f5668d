// Command lines that break a rule about RETRO.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_retro() {
  const std::string retro =
      "--architecture retro --retro-add-retriever --num-layers 6 --seq-length 64 --max-position-embeddings 128 ";
  const char* const plain = "a RETRO has standard layers";
  const char* const split = "a RETRO is split by tensor and data parallelism";
  const char* const fit = "a RETRO's sequence is a multiple of the chunk, and some layer attends to neighbours";
  const char* const ranges = "numbers of chunks, neighbours and layers of a RETRO are within their ranges";
  return {{"flags of retrieval need the architecture retro",
           {"--retro-num-neighbors 3", "--retro-num-neighbors is of pretrain-retro: leave it out"}},
          {ranges,
           {"--architecture retro --retro-chunk-length 16 --retro-num-neighbors 0",
            "--retro-num-neighbors 0 is out of range: from 1 to 1048576 is wanted"}},
          {ranges,
           {"--architecture retro --retro-chunk-length 16 --retro-encoder-hidden-dropout 1",
            "--retro-encoder-hidden-dropout 1 is out of range: want 0 to less than 1"}},
          {fit,
           {"--architecture retro --seq-length 72 --max-position-embeddings 72",
            "--seq-length 72 is not a multiple of --retro-chunk-length 64: use 128"}},
          {fit,
           {retro + "--num-layers 5", "--num-layers 5: a RETRO attends to neighbours from layer 6 on: give 6 or more"}},
          {fit,
           {retro + "--max-position-embeddings 64",
            "--max-position-embeddings 64 is less than the 128 tokens of a neighbour: raise it"}},
          {plain,
           {retro + "--position-embedding-type alibi",
            "--position-embedding-type alibi is not built for a RETRO: give rope or learned_absolute"}},
          {plain, {retro + "--sliding-window 4", "--sliding-window is not built for a RETRO: leave it out"}},
          {plain,
           {retro + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
            "--recompute-granularity is not built for a RETRO: leave it out"}},
          {split,
           {retro + "--pipeline-model-parallel-size 2 --world-size 2 --dry-run",
            "--pipeline-model-parallel-size is not built for a RETRO: leave it out, and split by "
            "--tensor-model-parallel-size and data parallelism"}},
          {split,
           {retro + "--tensor-model-parallel-size 2 --sequence-parallel --world-size 2 --dry-run",
            "--sequence-parallel is not built for a RETRO: leave it out, and split by --tensor-model-parallel-size and "
            "data parallelism"}},
          {split,
           {retro + "--ckpt-format torch_dist",
            "--ckpt-format: a RETRO is saved only in the native format: leave it out"}}};
}

}  // namespace megalith
