#include "step/step_batches.h"

#include <algorithm>

namespace megalith {

std::vector<double> counted_tokens(const Batch& batch) {
  check(batch.arrays.contains("loss_mask"), "the model weighs its losses by loss_mask, which this data does not give");
  const std::vector<float>& mask = batch.floats("loss_mask");
  std::vector<double> out(size_t(batch.sequences));
  for (size_t i = 0; i < mask.size(); ++i) out[i / size_t(batch.seq_length)] += double(mask[i]);
  return out;
}

bool reads_step_tokens(const std::vector<DataInput>& inputs) {
  return std::ranges::any_of(inputs, [](const DataInput& input) { return input.name == kStepTokens; });
}

StepBatches::StepBatches(BatchSource& source, i64 micro_batches, bool with_tokens) : source_(source) {
  if (!with_tokens) return;
  std::vector<double> sums;
  for (i64 m = 0; m < micro_batches; ++m) {
    ahead_.push_back(source.next());
    const std::vector<double> rows = counted_tokens(ahead_.back());
    sums.resize(rows.size());
    for (size_t row = 0; row < rows.size(); ++row) sums[row] += rows[row];
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
