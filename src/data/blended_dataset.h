// Several datasets read as one, in the order of a blend index.
#pragma once
#include <memory>
#include <vector>

#include "data/blend_index.h"
#include "data/dataset.h"

namespace megalith {

class BlendedDataset : public Dataset {
 public:
  // Error if the index asks a dataset for more samples than it has.
  BlendedDataset(std::vector<std::shared_ptr<const Dataset>> parts, BlendIndex index);

  i64 size() const override { return index_.size(); }
  i64 seq_length() const override { return parts_[0]->seq_length(); }
  std::vector<SampleArray> arrays() const override { return parts_[0]->arrays(); }
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override;
  std::vector<DocumentPart> documents(i64 i) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> parts_;
  BlendIndex index_;
};

}  // namespace megalith
