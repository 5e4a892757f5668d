// A dataset that is repeated, in the same order, up to a number of samples.
#pragma once
#include <memory>

#include "data/dataset.h"

namespace megalith {

class RepeatedDataset : public Dataset {
 public:
  // `part` must not be empty.
  RepeatedDataset(std::shared_ptr<const Dataset> part, i64 samples) : part_(std::move(part)), samples_(samples) {}

  i64 size() const override { return samples_; }
  i64 seq_length() const override { return part_->seq_length(); }
  std::vector<SampleArray> arrays() const override { return part_->arrays(); }
  void get(i64 i, const SampleRow& row) const override { part_->get(i % part_->size(), row); }
  std::vector<DocumentPart> documents(i64 i) const override { return part_->documents(i % part_->size()); }
  std::vector<DatasetUse> use(i64 samples) const override {
    std::vector<DatasetUse> whole = part_->use(part_->size()), rest = part_->use(samples % part_->size());
    const i64 times = samples / part_->size();
    for (std::size_t i = 0; i < rest.size(); ++i) {
      rest[i].samples += whole[i].samples * times;
      rest[i].epochs += whole[i].epochs * double(times);
    }
    return rest;
  }

 private:
  std::shared_ptr<const Dataset> part_;
  i64 samples_;
};

}  // namespace megalith
