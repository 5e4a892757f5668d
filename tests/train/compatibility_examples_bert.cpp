// Command lines that break a rule about BERT.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_bert() {
  const std::string bert = "--architecture bert ";
  const auto not_built = [](const std::string& flag) { return flag + " is not built for BERT: leave it out"; };
  const std::string of_decoders = "BERT has no decoder-only features",
                    data = "BERT's data and attention have no decoder-only features";
  return {{"BERT has learned positions or rope",
           {bert + "--position-embedding-type alibi",
            "--position-embedding-type: BERT has learned_absolute or rope: give one of them"}},
          {of_decoders, {bert + "--sliding-window 4", not_built("--sliding-window")}},
          {of_decoders, {bert + "--parallel-residual", not_built("--parallel-residual")}},
          {of_decoders, {bert + "--scale-embedding", not_built("--scale-embedding")}},
          {data, {bert + "--eod-mask-loss", not_built("--eod-mask-loss")}},
          {data, {bert + "--reset-position-ids", not_built("--reset-position-ids")}},
          {"token types are as many as segments",
           {bert + "--bert-token-types 1",
            "--bert-token-types 1: samples of two segments have two types: give 2 or more, or --bert-no-binary-head"}},
          {"mask-prob and short-seq-prob are shares",
           {bert + "--mask-prob 1", "--mask-prob 1 is out of range: want more than 0, less than 1"}},
          {"mask-prob and short-seq-prob are shares",
           {bert + "--short-seq-prob -1", "--short-seq-prob -1 is out of range: want 0 to 1"}},
          {"a sample of BERT has room for two segments",
           {bert + "--seq-length 4", "--seq-length 4: a sample of two segments takes 5 tokens or more"}},
          {"flags about BERT come with pretrain-bert",
           {"--mask-prob 0.2", "--mask-prob has no effect: it is for pretrain-bert and pretrain-t5"}},
          {"BERT has learned positions, as Megatron's script",
           {bert + "--position-embedding-type rope",
            "--position-embedding-type rope is honoured: Megatron's pretrain_bert.py would train learned positions"}}};
}

}  // namespace megalith
