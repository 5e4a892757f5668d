#include "data/blended_dataset.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

BlendedDataset::BlendedDataset(std::vector<std::shared_ptr<const Dataset>> parts, BlendIndex index)
    : parts_(std::move(parts)), index_(std::move(index)) {
  std::vector<i64> asked(parts_.size());
  for (std::int16_t d : index_.datasets) ++asked[std::size_t(d)];
  for (std::size_t d = 0; d < parts_.size(); ++d)
    check(asked[d] <= parts_[d]->size(),
          "dataset {} of the blend is asked for {} samples but has {}: change its weight", d, asked[d],
          parts_[d]->size());
}

void BlendedDataset::get(i64 i, const SampleRow& row) const {
  check(i >= 0 && i < size(), "the blend has {} samples: there is no sample {}", size(), i);
  parts_[std::size_t(index_.datasets[std::size_t(i)])]->get(index_.samples[std::size_t(i)], row);
}

}  // namespace megalith
