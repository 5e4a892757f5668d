// The dimensions of the layout matrices, and their values.
#pragma once
#include <vector>

namespace megalith::parity {

struct Word {
  const char* name;
  const char* flags;
  int ranks = 1;  // the number of ranks grows by this factor
};
struct Dimension {
  bool model;  // the reference gets these flags too
  std::vector<Word> values;
};

// To test a new kind of parallelism, add a row. If a layout does not name a dimension, it has the first value of that
// dimension.
const std::vector<Dimension>& dense_dimensions();
const std::vector<Dimension>& expert_dimensions();
const std::vector<Dimension>& bert_dimensions();
const std::vector<Dimension>& t5_dimensions();
const std::vector<Dimension>& retro_dimensions();

// Dimensions of several tables: how data-parallel ranks sum gradients, and the samples of a micro-batch.
Dimension sums_of_gradients();
Dimension micro_batches();

}  // namespace megalith::parity
