#include "step/step_batches.h"

#include <algorithm>

namespace megalith {
namespace {

bool is_counted(const DataInput& input) { return !input.counts.empty(); }

Batch::Array mask_of(const Batch& batch, const std::string& name, const std::vector<DataInput>& inputs) {
  if (const auto mask = batch.arrays.find(name); mask != batch.arrays.end()) return mask->second;
  const auto input = std::ranges::find(inputs, name, &DataInput::name);
  check(input != inputs.end() && input->make, "the model weighs its losses by {}, which this data does not give", name);
  return input->make(batch);
}

// Of each row.
void add_sums(const Batch& batch, const std::vector<float>& mask, std::vector<double>& sums) {
  sums.resize(size_t(batch.sequences));
  const size_t length = mask.size() / size_t(batch.sequences);
  for (size_t i = 0; i < mask.size(); ++i) sums[i / length] += double(mask[i]);
}

}  // namespace

std::map<std::string, std::vector<float>> step_counts(std::span<const Batch> batches,
                                                      const std::vector<DataInput>& inputs) {
  std::map<std::string, std::vector<float>> out;
  for (const DataInput& input : inputs) {
    if (!is_counted(input)) continue;
    std::vector<double> sums;
    for (const Batch& batch : batches)
      add_sums(batch, std::get<std::vector<float>>(mask_of(batch, input.counts, inputs)), sums);
    for (const double sum : sums) out[input.name].push_back(float(sum / double(batches.size())));
  }
  return out;
}

StepBatches::StepBatches(BatchSource& source, i64 micro_batches, const std::vector<DataInput>& inputs)
    : source_(source) {
  if (std::ranges::none_of(inputs, is_counted)) return;
  for (i64 m = 0; m < micro_batches; ++m) ahead_.push_back(source.next());
  counts_ = step_counts(ahead_, inputs);
}

Batch StepBatches::next() {
  if (counts_.empty()) return source_.next();
  Batch out = std::move(ahead_.at(given_++));
  for (const auto& [name, counts] : counts_) out.floats(name) = counts;
  return out;
}

}  // namespace megalith
