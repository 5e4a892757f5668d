// Command lines that break a rule about encoder-decoder models.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_encoder_decoders() {
  const std::string t5 = "--architecture t5 --decoder-seq-length 16 ";
  const std::string relative = t5 + "--position-embedding-type relative ";
  return {
      {"flags of encoder-decoders come with architecture t5",
       {"--position-embedding-type relative",
        "--position-embedding-type relative is of encoder-decoders (pretrain-t5): give rope"}},
      {"flags of encoder-decoders come with architecture t5",
       {"--decoder-seq-length 8", "--decoder-seq-length is of encoder-decoders (pretrain-t5): leave it out"}},
      {"a T5 has a decoder's length, within max-position-embeddings",
       {"--architecture t5", "--decoder-seq-length 0: a T5 needs the length of the decoder's text, 1 or more"}},
      {"a T5 has a decoder's length, within max-position-embeddings",
       {t5 + "--decoder-num-layers -2", "--decoder-num-layers -2 is out of range: from 0 to 1048576 is wanted"}},
      {"a T5 has a decoder's length, within max-position-embeddings",
       {"--architecture t5 --decoder-seq-length 80 --max-position-embeddings 64",
        "--max-position-embeddings 64 is less than --decoder-seq-length 80: raise it"}},
      {"buckets of relative positions are enough for both sides",
       {relative + "--relative-attention-num-buckets 5",
        "--relative-attention-num-buckets, --relative-attention-max-distance: 5 buckets of relative positions: "
        "want an even number, 4 or more"}},
      {"buckets of relative positions are enough for both sides",
       {relative + "--relative-attention-max-distance 9",
        "--relative-attention-num-buckets, --relative-attention-max-distance: a largest relative distance of 9: "
        "want more than 16, as 16 buckets have one each"}},
      {"a T5 has standard layers",
       {t5 + "--num-query-groups 2",
        "--num-query-groups 2 with a T5: each of its 4 heads has separate keys; leave it out"}},
      {"a T5 has standard layers",
       {t5 + "--position-embedding-type alibi",
        "--position-embedding-type alibi and yarn are not built for a T5: give relative, rope or "
        "learned_absolute"}},
      {"a T5 has standard layers", {t5 + "--sliding-window 4", "--sliding-window is not built for a T5: leave it out"}},
      {"a T5 has standard layers", {t5 + "--eod-mask-loss", "--eod-mask-loss is not built for a T5: leave it out"}},
      {"an encoder's stages come with a T5",
       {"--encoder-pipeline-model-parallel-size 1 --world-size 2 --dry-run",
        "--encoder-pipeline-model-parallel-size 1 is of encoder-decoders (pretrain-t5): leave it out"}},
      {"parallel sizes are at least 1",
       {t5 + "--encoder-pipeline-model-parallel-size -1",
        "--encoder-pipeline-model-parallel-size -1 is out of "
        "range: give 0 or more"}},
      {"an encoder's stages come with a T5",
       {t5 + "--encoder-pipeline-model-parallel-size 1 --pipeline-model-parallel-layout auto --world-size 2 --dry-run",
        "--pipeline-model-parallel-layout says all about the stages: instead of "
        "--encoder-pipeline-model-parallel-size 1 give --pipeline-model-parallel-size 2"}},
      {"decoder-seq-length is a multiple of what splits it",
       {"--architecture t5 --decoder-seq-length 18 --context-parallel-size 2 --world-size 2 --dry-run",
        "--decoder-seq-length 18 is not a multiple of 4, as --sequence-parallel and --context-parallel-size ask "
        "for: use 20"}}};
}

}  // namespace megalith
