// Divides layers among pipeline stages by Megatron's rules. Virtual stage chunk * stages + stage is piece `chunk` of
// rank `stage`. The embedding belongs to the first, head and loss to the last.
#pragma once
#include <optional>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct LayerSplit {
  i64 layers = 0;
  int stages = 1, chunks = 1;
  // Layers of the first and last rank: --decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers.
  std::optional<i64> first = {}, last = {};
  bool embedding_counts = false;  // --account-for-embedding-in-pipeline-split: as a layer of the first virtual stage
  bool loss_counts = false;       // --account-for-loss-in-pipeline-split: as a layer of the last
};

// Layers of each virtual stage (stages * chunks of them). Shares are equal unless the options change them. A rank's
// layers are divided equally among its chunks. Error if a share is not an integer; the message names the shares that
// would be.
std::vector<i64> split_layers(const LayerSplit& split);

// Virtual stages a rank if each is to have `layers_a_chunk` layers (--num-layers-per-virtual-pipeline-stage). Ignores
// split.chunks. Error if they do not divide a rank's layers, or ranks have different numbers of layers.
int chunks_of(const LayerSplit& split, i64 layers_a_chunk);

}  // namespace megalith
