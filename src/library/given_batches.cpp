#include "library/given_batches.h"

#include <cmath>
#include <numeric>

#include "base/clock.h"

namespace megalith {
namespace {

void check_ids(const Batch& batch, const BatchForm& form) {
  const std::vector<i32>&tokens = batch.ints("tokens"), &labels = batch.ints("labels");
  const std::vector<i32>& positions = batch.ints("position_ids");
  const std::vector<float>& mask = batch.floats("loss_mask");
  for (size_t i = 0; i < tokens.size(); ++i) {
    const i64 row = i64(i) / form.seq_length, column = i64(i) % form.seq_length;
    check(tokens[i] >= 0 && tokens[i] < form.vocab_size,
          "token {} at position {} of sequence {} of a batch: the vocabulary has {}", tokens[i], column, row,
          form.vocab_size);
    check(std::isfinite(mask[i]) && mask[i] >= 0, "loss_mask {} at position {} of sequence {}: give 0 or more", mask[i],
          column, row);
    check(mask[i] == 0 || (labels[i] >= 0 && labels[i] < form.vocab_size),
          "label {} at position {} of sequence {} of a batch: the vocabulary has {}; set its loss_mask to 0", labels[i],
          column, row, form.vocab_size);
    check(positions[i] >= 0 && positions[i] < form.seq_length,
          "position {} at position {} of sequence {}: want 0 to {}", positions[i], column, row, form.seq_length - 1);
  }
}

}  // namespace

GivenBatches::GivenBatches(const BatchFiller& filler, const BatchForm& form, i64 consumed)
    : filler_(filler), form_(form), consumed_(consumed) {}

Batch GivenBatches::made(i64 first) const {
  const size_t n = size_t(form_.sequences * form_.seq_length);
  Batch batch{.sequences = form_.sequences, .seq_length = form_.seq_length};
  batch.ints("tokens").resize(n), batch.ints("labels").resize(n), batch.ints("position_ids").resize(n);
  batch.floats("loss_mask").assign(n, 1);
  for (i64 s = 0; s < form_.sequences; ++s) {
    const auto row = batch.ints("position_ids").begin() + s * form_.seq_length;
    std::iota(row, row + form_.seq_length, 0);
    batch.longs("rows").push_back(first + s);
  }
  mgl_batch out{sizeof out,
                first,
                form_.sequences,
                form_.seq_length,
                batch.ints("tokens").data(),
                batch.ints("labels").data(),
                batch.floats("loss_mask").data(),
                batch.ints("position_ids").data()};
  int code = 0;
  try {
    code = filler_.fill(filler_.user, &out);
  } catch (...) {  // the caller may be C++ and throw anything
    fail("the function that fills batches threw: let it return a number other than 0 instead");
  }
  check(code == 0, "the function that fills batches returned {} for the batch at sample {}", code, first);
  check_ids(batch, form_);
  return batch;
}

void GivenBatches::fill(i64 batches) {
  const double began = steady_seconds();
  std::deque<Batch> all;
  for (i64 b = 0; b < batches; ++b)
    all.push_back(made(consumed_ + b * form_.at_once() + form_.place * form_.sequences));
  ahead_ = std::move(all);
  seconds_ += steady_seconds() - began;
}

double GivenBatches::weight() const {
  double sum = 0;
  for (const Batch& batch : ahead_)
    for (const float x : batch.floats("loss_mask")) sum += double(x);
  return sum;
}

Batch GivenBatches::next() {
  check(!ahead_.empty(), "a step reads more batches than were filled for it");
  Batch batch = std::move(ahead_.front());
  ahead_.pop_front();
  consumed_ += form_.at_once();
  return batch;
}

}  // namespace megalith
