// Micro-batches that the program around the library fills.
#pragma once
#include <deque>

#include "base/batch.h"
#include "megalith/megalith.h"

namespace megalith {

struct BatchFiller {
  mgl_batch_fn fill = nullptr;
  void* user = nullptr;
};

struct BatchForm {
  i64 sequences, seq_length, vocab_size;
  i64 place = 0, ranks = 1;  // among the data-parallel ones, which read micro-batches side by side
  i64 at_once() const { return sequences * ranks; }
};

class GivenBatches final : public BatchSource {
 public:
  GivenBatches(const BatchFiller& filler, const BatchForm& form, i64 consumed);
  // Has so many filled, before any of them is used: a batch that fails leaves the model as it is. Error if one does, or
  // has a token outside of the vocabulary or a weight that is no number.
  void fill(i64 batches);
  double weight() const;  // of what was filled and not handed out: the sum of loss_mask

  Batch next() override;
  i64 consumed_samples() const override { return consumed_; }
  double seconds_waited() const override { return seconds_; }

 private:
  Batch made(i64 first) const;

  BatchFiller filler_;
  BatchForm form_;
  i64 consumed_;  // by all ranks, by what was handed out
  double seconds_ = 0;
  std::deque<Batch> ahead_;
};

}  // namespace megalith
