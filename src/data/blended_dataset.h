// Several datasets read as one, in the order of a blend index.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "data/blend_index.h"
#include "data/dataset.h"

namespace megalith {

class BlendedDataset : public Dataset {
 public:
  // Error if the index asks a dataset for more samples than it has.
  // `built`: the samples of a part for this many of the blend. Empty: unknown.
  using Built = std::function<i64(std::size_t part, i64 samples)>;
  BlendedDataset(std::vector<std::shared_ptr<const Dataset>> parts, BlendIndex index, Built built = {});

  i64 size() const override { return index_.size(); }
  i64 seq_length() const override { return parts_[0]->seq_length(); }
  std::vector<SampleArray> arrays() const override { return parts_[0]->arrays(); }
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override;
  bool keeps_order(i64 samples) const override;
  std::vector<DocumentPart> documents(i64 i) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> parts_;
  BlendIndex index_;
  Built built_;
};

}  // namespace megalith
