#include "step/micro_batch_losses.h"

#include "passes/gradients.h"

namespace megalith {

MicroBatchLosses::MicroBatchLosses(const PlannedStep& step, Interpreter& interpreter) {
  const auto find = [&](const char* name) -> const double* {
    const Leaf* leaf = step.plan.find_leaf(name);
    return leaf ? reinterpret_cast<const double*>(interpreter.host_view(*leaf)) : nullptr;
  };
  sum_ = find(kLossSum), tokens_ = find(kTokenSum);
}

void MicroBatchLosses::take() {
  if (!sum_ || !tokens_) return;
  if (all_.empty()) before_ = {};
  all_.push_back({*sum_ - before_.sum, *tokens_ - before_.tokens});
  before_ = {*sum_, *tokens_};
}

}  // namespace megalith
