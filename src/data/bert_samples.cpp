#include "data/bert_samples.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

BertSamples::BertSamples(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
                         std::optional<i64> samples, const BertConfig& config)
    : sentences_(sentences),
      seq_length_(config.seq_length),
      vocab_size_(config.vocab_size),
      sentences_per_epoch_(document_begins.back() - document_begins.front()),
      samples_(std::move(sentences), document_begins, samples, config) {}

std::vector<SampleArray> BertSamples::arrays() const {
  return {{"tokens", DType::i32, seq_length_}, {"types", DType::i32, seq_length_},
          {"labels", DType::i32, seq_length_}, {"loss_mask", DType::f32, seq_length_},
          {"lengths", DType::i32, 1},          {"is_random", DType::i32, 1},
          {"pair_mask", DType::f32, 1}};
}

void BertSamples::get(i64 i, const SampleRow& row) const {
  const BertSample s = samples_.get(i);
  const auto length = std::ranges::find(s.padding_mask, 0) - s.padding_mask.begin();
  for (std::ptrdiff_t p = 0; p < length; ++p) {
    const i32 token = std::max(s.text[std::size_t(p)], s.labels[std::size_t(p)]);
    check(s.text[std::size_t(p)] >= 0 && token < vocab_size_,
          "{} holds token {}, outside the vocabulary of {}: tokenize it with this tokenizer", sentences_->name(), token,
          vocab_size_);
  }
  std::ranges::copy(s.text, row.ints("tokens").begin());
  std::copy_n(s.types.begin(), length, row.ints("types").begin());  // the padding stays 0
  std::ranges::copy(s.labels, row.ints("labels").begin());
  std::ranges::copy(s.loss_mask, row.floats("loss_mask").begin());
  row.ints("lengths")[0] = i32(length), row.ints("is_random")[0] = s.is_swapped;
  row.floats("pair_mask")[0] = 1;
}

std::vector<DatasetUse> BertSamples::use(i64 samples) const {
  i64 read = 0;
  for (i64 i = 0; i < samples; ++i) {
    const SentenceSpan& span = samples_.map()[std::size_t(i)];
    read += span.end - span.begin;
  }
  return {{sentences_->name(), samples, double(read) / double(std::max<i64>(1, sentences_per_epoch_))}};
}

}  // namespace megalith
