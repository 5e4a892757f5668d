#include "step/step_batches.h"

#include <algorithm>

namespace megalith {

bool reads_step_tokens(const std::vector<DataInput>& inputs) {
  return std::ranges::any_of(inputs, [](const DataInput& input) { return input.name == kStepTokens; });
}

StepBatches::StepBatches(BatchSource& source, i64 micro_batches, bool with_tokens) : source_(source) {
  if (!with_tokens) return;
  std::vector<double> sums;
  for (i64 m = 0; m < micro_batches; ++m) {
    ahead_.push_back(source.next());
    const Batch& batch = ahead_.back();
    check(batch.arrays.contains("loss_mask"),
          "the model weighs its losses by loss_mask, which this data does not give");
    const std::vector<float>& mask = batch.floats("loss_mask");
    sums.resize(size_t(batch.sequences));
    for (i64 row = 0; row < batch.sequences; ++row)
      for (i64 at = 0; at < batch.seq_length; ++at)
        sums[size_t(row)] += double(mask[size_t(row * batch.seq_length + at)]);
  }
  for (double sum : sums) tokens_.push_back(float(sum / double(micro_batches)));
}

Batch StepBatches::next() {
  if (tokens_.empty()) return source_.next();
  Batch out = std::move(ahead_.front());
  ahead_.pop_front();
  out.floats(kStepTokens) = tokens_;
  return out;
}

}  // namespace megalith
