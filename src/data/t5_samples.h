// Samples of T5 as arrays of a batch (models/t5/t5.h):
//   tokens                  i32 [s]   the encoder's text
//   lengths                 i32       number of its tokens before the padding
//   decoder_tokens, labels  i32 [s']  the decoder's text; labels are -1 after the end
//   loss_mask               f32 [s']  1 where the label counts
#pragma once
#include <memory>

#include "data/dataset.h"
#include "data/t5_dataset.h"

namespace megalith {

class T5Samples final : public Dataset {
 public:
  // `document_begins` and `samples`: see T5Dataset. Error at a read if an id is `vocab_size` or more.
  T5Samples(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
            std::optional<i64> samples, const T5Config& config, i64 vocab_size);

  i64 size() const override { return samples_.size(); }
  i64 seq_length() const override { return seq_length_; }
  std::vector<SampleArray> arrays() const override;
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override;  // epochs: in sentences

 private:
  std::shared_ptr<const TokenSource> sentences_;
  i64 seq_length_, decoder_length_, vocab_size_, sentences_per_epoch_;
  T5Dataset samples_;
};

}  // namespace megalith
