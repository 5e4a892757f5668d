// The micro-batches of one training step. Where the model asks for kStepTokens (models/model.h) all are read before the
// first is given, and each gets that array.
#pragma once
#include <deque>

#include "base/batch.h"
#include "models/model.h"

namespace megalith {

// The sum of the loss mask of each row. Error if the batch has none.
std::vector<double> counted_tokens(const Batch& batch);

// Whether the model asks for it.
bool reads_step_tokens(const std::vector<DataInput>& inputs);

class StepBatches {
 public:
  StepBatches(BatchSource& source, i64 micro_batches, bool with_tokens);
  Batch next();

 private:
  BatchSource& source_;
  std::deque<Batch> ahead_;    // read, and not given
  std::vector<float> tokens_;  // by row; empty: the model does not ask
};

}  // namespace megalith
