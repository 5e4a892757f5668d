// Whether the vocabulary's loss and its gradient are computed with one read of the logits. A row then stays in the
// registers of a cluster's blocks. So this needs Hopper, and rows that fit.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

constexpr int kVocabThreads = 256, kVocabPacks = 8, kVocabBlocks = 8;  // packs of 16 bytes; blocks of a cluster

// Blocks of a row; 0: it does not fit.
inline int vocab_loss_blocks(DType dtype, i64 rows, i64 width, int capability) {
  const i64 pack = 16 / size_of(dtype), each = kVocabThreads * kVocabPacks * pack;
  const i64 blocks = (width + each - 1) / each;
  const bool fits = capability == 90 && width % pack == 0 && blocks <= kVocabBlocks;
  return fits && rows * blocks < (i64{1} << 31) ? int(blocks) : 0;
}
// The workspace if rows do not fit: a maximum and two gradients for each row.
inline i64 vocab_loss_workspace(i64 rows) { return 3 * rows * i64(sizeof(float)); }

}  // namespace megalith::cuda
