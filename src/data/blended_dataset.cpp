#include "data/blended_dataset.h"

#include "base/check.h"

namespace megalith {

BlendedDataset::BlendedDataset(std::vector<std::shared_ptr<const Dataset>> parts, BlendIndex index, Built built)
    : parts_(std::move(parts)), index_(std::move(index)), built_(std::move(built)) {
  const std::vector<i64> asked = index_.taken_before(size());
  for (std::size_t d = 0; d < parts_.size(); ++d)
    check(asked[d] <= parts_[d]->size(),
          "dataset {} of the blend is asked for {} samples but has {}: change its weight", d, asked[d],
          parts_[d]->size());
}

void BlendedDataset::get(i64 i, const SampleRow& row) const {
  const BlendedSample sample = index_.at(i);
  parts_[std::size_t(sample.dataset)]->get(sample.sample, row);
}

std::vector<DocumentPart> BlendedDataset::documents(i64 i) const {
  const BlendedSample sample = index_.at(i);
  return parts_[std::size_t(sample.dataset)]->documents(sample.sample);
}

// A longer blend continues a shorter one.
bool BlendedDataset::keeps_order(i64 samples) const {
  if (!built_) return false;
  for (std::size_t d = 0; d < parts_.size(); ++d)
    if (!parts_[d]->keeps_order(built_(d, samples))) return false;
  return true;
}

std::vector<DatasetUse> BlendedDataset::use(i64 samples) const {
  const std::vector<i64> taken = index_.taken_before(samples);
  std::vector<DatasetUse> all;
  for (std::size_t d = 0; d < parts_.size(); ++d)
    for (DatasetUse& part : parts_[d]->use(taken[d])) all.push_back(std::move(part));
  return all;
}

}  // namespace megalith
