// Samples of BERT as arrays of a batch (models/bert/bert.h):
//   tokens, types, labels  i32 [s]  labels are -1 where nothing is predicted
//   loss_mask              f32 [s]  1 where the label counts
//   lengths, is_random     i32      number of tokens before the padding; 1: the two segments were swapped
//   pair_mask              f32      1: the sample counts
#pragma once
#include <memory>

#include "data/bert_dataset.h"
#include "data/dataset.h"

namespace megalith {

class BertSamples final : public Dataset {
 public:
  // `document_begins` and `samples`: see BertDataset. Also Error at a read if a token is outside of the vocabulary.
  BertSamples(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
              std::optional<i64> samples, const BertConfig& config);

  i64 size() const override { return samples_.size(); }
  i64 seq_length() const override { return seq_length_; }
  std::vector<SampleArray> arrays() const override;
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override;  // epochs: in sentences

 private:
  std::shared_ptr<const TokenSource> sentences_;
  i64 seq_length_, vocab_size_, sentences_per_epoch_;
  BertDataset samples_;
};

}  // namespace megalith
