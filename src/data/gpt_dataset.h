// Samples for a language model, cut from a stream of documents: token t is trained to predict token t + 1.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/gpt_index.h"
#include "data/token_source.h"

namespace megalith {

struct GptSampleOptions {
  i64 seq_length = 0;
  i64 vocab_size = 0;  // 0: ids are not checked
  i64 eod = -1;        // id of end-of-document; -1: none
  i64 pad = -1;        // labels with this id do not count; -1: all count
  bool add_extra_token = true;
  bool reset_position_ids = false;
  bool reset_attention_mask = false;
  bool eod_mask_loss = false;
};

// Changes the tokens of a sample before labels and marks are computed. It keeps their number. Several threads may
// call it.
using TextEdit = std::function<void(i64 sample, std::vector<i32>& tokens)>;

class GptDataset : public Dataset {
 public:
  // The index must be built from this source. `tokens_per_epoch`: tokens of one epoch (0: unknown). `asked`: the
  // index's request.
  GptDataset(std::shared_ptr<const TokenSource> source, GptIndex index, GptSampleOptions options,
             i64 tokens_per_epoch = 0, TextEdit edit = {}, std::optional<GptIndexRequest> asked = {});

  i64 size() const override { return index_.size(); }
  i64 seq_length() const override { return options_.seq_length; }
  std::vector<SampleArray> arrays() const override {
    return decoder_arrays(options_.seq_length, options_.reset_attention_mask);
  }

  // Error, with source, document and token, if the sample has an id outside the vocabulary.
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override;
  bool keeps_order(i64 samples) const override;
  std::vector<DocumentPart> documents(i64 i) const override;
  // The sequences of the source from which a sample takes tokens, including its last label, in ascending order.
  std::vector<i64> sequences(i64 i) const;

 private:
  std::vector<i32> text(i64 sample) const;
  void append(std::vector<i32>& text, i64 entry, i64 begin, i64 end) const;
  std::pair<SamplePosition, SamplePosition> bounds(i64 sample) const;
  void fill_marks(const SampleRow& row) const;

  std::shared_ptr<const TokenSource> source_;
  GptIndex index_;
  GptSampleOptions options_;
  double samples_per_epoch_;
  TextEdit edit_;
  std::optional<GptIndexRequest> asked_;
};

}  // namespace megalith
