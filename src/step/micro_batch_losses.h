// The loss of each micro-batch of a step, if the host can see the sum between runs.
#pragma once
#include <vector>

#include "step/step.h"

namespace megalith {

// A rank's share of a micro-batch's loss; the loss is sum / tokens over the ranks with different tokens.
struct LossShare {
  double sum = 0, tokens = 0;
};

class MicroBatchLosses {
 public:
  MicroBatchLosses(const PlannedStep& step, Interpreter& interpreter);
  void begin() { all_.clear(); }  // a step
  void take();                    // after each of its micro-batches
  const std::vector<LossShare>& all() const { return all_; }

 private:
  const double *sum_ = nullptr, *tokens_ = nullptr;
  LossShare before_;
  std::vector<LossShare> all_;
};

}  // namespace megalith
