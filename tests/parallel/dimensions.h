// What the layouts of the matrices are made of.
#pragma once
#include <vector>

namespace megalith::parity {

struct Word {
  const char* name;
  const char* flags;
  int ranks = 1;  // the mesh grows by this factor
};
struct Dimension {
  bool model;  // one rank gets these flags too
  std::vector<Word> values;
};

// A new way to share the work is a new row. The first value of a dimension is what a layout has that does not name it.
const std::vector<Dimension>& dense_dimensions();
const std::vector<Dimension>& expert_dimensions();
const std::vector<Dimension>& bert_dimensions();
const std::vector<Dimension>& t5_dimensions();
const std::vector<Dimension>& retro_dimensions();

// Dimensions of both: how data-parallel ranks add up gradients, and the samples of a micro-batch.
Dimension sums_of_gradients();
Dimension micro_batches();

}  // namespace megalith::parity
