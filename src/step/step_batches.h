// The micro-batches of one training step. The model may need arrays of the whole step (kStepTokens, models/model.h).
// Then all micro-batches are read before the first is returned, and each gets these arrays.
#pragma once
#include <deque>
#include <span>

#include "base/batch.h"
#include "models/model.h"

namespace megalith {

// For the model's inputs that need it: the sum of the mask in each row of a micro-batch, averaged over the step's
// micro-batches. Error if they lack the mask.
std::map<std::string, std::vector<float>> step_counts(std::span<const Batch> batches,
                                                      const std::vector<DataInput>& inputs);

class StepBatches {
 public:
  StepBatches(BatchSource& source, i64 micro_batches, const std::vector<DataInput>& inputs);
  Batch next();

 private:
  BatchSource& source_;
  std::vector<Batch> ahead_;  // read before the first is given
  size_t given_ = 0;
  std::map<std::string, std::vector<float>> counts_;  // empty: the model does not ask
};

}  // namespace megalith
