// Micro-batches that are filled by the program that uses the library.
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
  i64 place = 0, ranks = 1;  // index among the data-parallel ranks, which read different micro-batches at the same time
  i64 at_once() const { return sequences * ranks; }
};

class GivenBatches final : public BatchSource {
 public:
  GivenBatches(const BatchFiller& filler, const BatchForm& form, i64 consumed);
  // Fills this many batches before any of them is used, so an error leaves the model unchanged. Error if the caller's
  // function fails, a token is outside the vocabulary, or a weight is not a number.
  void fill(i64 batches);
  double weight() const;  // the sum of loss_mask over batches that are filled and not yet returned by next()

  Batch next() override;
  i64 consumed_samples() const override { return consumed_; }
  double seconds_waited() const override { return seconds_; }

 private:
  Batch made(i64 first) const;

  BatchFiller filler_;
  BatchForm form_;
  i64 consumed_;  // samples of all ranks in the batches that next() has returned
  double seconds_ = 0;
  std::deque<Batch> ahead_;
};

}  // namespace megalith
