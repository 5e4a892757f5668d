#include "data/t5_samples.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace megalith {

T5Samples::T5Samples(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
                     std::optional<i64> samples, const T5Config& config, i64 vocab_size)
    : sentences_(sentences),
      seq_length_(config.seq_length),
      decoder_length_(config.seq_length_decoder),
      vocab_size_(vocab_size),
      sentences_per_epoch_(document_begins.back() - document_begins.front()),
      samples_(std::move(sentences), document_begins, samples, config) {}

std::vector<SampleArray> T5Samples::arrays() const {
  return {{"tokens", DType::i32, seq_length_},
          {"lengths", DType::i32, 1},
          {"decoder_tokens", DType::i32, decoder_length_},
          {"labels", DType::i32, decoder_length_},
          {"loss_mask", DType::f32, decoder_length_}};
}

void T5Samples::get(i64 i, const SampleRow& row) const {
  const T5Sample s = samples_.get(i);
  for (const std::vector<i32>* ids : {&s.encoder_text, &s.labels})
    for (const i32 id : *ids)
      check(id < vocab_size_, "{} holds token {}, outside the vocabulary of {}: tokenize it with this tokenizer",
            sentences_->name(), id, vocab_size_);
  std::ranges::copy(s.encoder_text, row.ints("tokens").begin());
  std::ranges::copy(s.decoder_text, row.ints("decoder_tokens").begin());
  std::ranges::copy(s.labels, row.ints("labels").begin());
  std::ranges::copy(s.loss_mask, row.floats("loss_mask").begin());
  row.ints("lengths")[0] = std::accumulate(s.encoder_mask.begin(), s.encoder_mask.end(), 0);
}

std::vector<DatasetUse> T5Samples::use(i64 samples) const {
  i64 read = 0;
  for (i64 i = 0; i < samples; ++i) {
    const SentenceSpan& span = samples_.map()[std::size_t(i)];
    read += span.end - span.begin;
  }
  return {{sentences_->name(), samples, double(read) / double(std::max<i64>(1, sentences_per_epoch_))}};
}

}  // namespace megalith
