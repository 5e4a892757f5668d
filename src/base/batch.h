// What a training step reads: micro-batches, one after another. Whoever makes them implements BatchSource.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// A micro batch of one data-parallel rank. All arrays but sample_numbers are row-major [sequences, seq_length].
struct Batch {
  i64 sequences = 0, seq_length = 0;
  std::vector<i32> tokens, labels;  // ids; where loss_mask is 0 a label may be meaningless
  std::vector<float> loss_mask;     // 1: this position counts in the loss
  std::vector<i32> position_ids;
  std::vector<i64> sample_numbers;   // [sequences]: how many samples all ranks had consumed before this one
  std::vector<i32> document_starts;  // first position of each position's document; empty without reset_attention_mask
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch next() = 0;                    // Error where there is none left
  virtual i64 consumed_samples() const = 0;    // by all ranks, counting the batches handed out so far
  virtual double seconds_waited() const = 0;   // for batches so far
};

}  // namespace megalith
