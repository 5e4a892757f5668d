// Tests of pipeline stages that are balanced by cost (--pipeline-model-parallel-layout auto).
#include <gtest/gtest.h>

#include "options_helpers.h"
#include "settings/parallel.h"

namespace megalith {
namespace {

constexpr const char* kLlama8B =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
    "--ffn-hidden-size 14336 --swiglu --seq-length 8192 --vocab-size 128256 --untie-embeddings-and-output-weights "
    "--position-embedding-type rope --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-3 --mock-data "
    "--dry-run ";

std::vector<i64> layers(const std::string& more) {
  const Options o = options_of(kLlama8B + more);
  std::vector<i64> blocks = pipeline_of(o.parallel, o.model, 0, 8).blocks;
  --blocks.front(), --blocks.back();  // without embedding and output layer
  return blocks;
}

}  // namespace

// A layer of this model at s 8192 computes 1.51 GFLOP per token (0.218e9 weights and the attention core). Output layer
// and loss compute 3.27 GFLOP, as much as 2.2 layers. So the largest stage has 9 layers. With equal numbers of layers,
// the last stage would have the cost of 10.2 layers.
TEST(AutoStages, WeighHeadAndLoss) {
  EXPECT_EQ(layers("--world-size 4 --pipeline-model-parallel-size 4"), (std::vector<i64>{8, 8, 8, 8}));
  EXPECT_EQ(layers("--world-size 4 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout auto"),
            (std::vector<i64>{8, 9, 9, 6}));
}

TEST(AutoStages, CutARanksPiecesToo) {
  const std::vector<i64> pieces = layers(
      "--world-size 4 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
      "--pipeline-model-parallel-layout auto");
  EXPECT_EQ(pieces, (std::vector<i64>{4, 4, 4, 4, 4, 5, 5, 2}));
}

// A vocabulary that costs as much as several layers has its own stage.
TEST(AutoStages, HeadAndLossMayStandAlone) {
  EXPECT_EQ(layers("--world-size 4 --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout auto "
                   "--num-layers 3 --vocab-size 1000000"),
            (std::vector<i64>{1, 1, 1, 0}));
}

}  // namespace megalith
