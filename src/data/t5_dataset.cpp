#include "data/t5_dataset.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

T5Dataset::T5Dataset(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
                     std::optional<i64> samples, T5Config config)
    : sentences_(std::move(sentences)),
      config_(std::move(config)),
      map_(load_or_build_sentence_map(*sentences_, document_begins,
                                      {.samples = samples,
                                       .max_length = config_.seq_length - 2,
                                       .short_probability = config_.masking.short_probability,
                                       .seed = config_.seed,
                                       .min_sentences = 1},
                                      config_.cache_path)) {}

T5Sample T5Dataset::get(i64 i) const {
  check(i >= 0 && i < size(), "{} has {} samples: there is no sample {}", sentences_->name(), size(), i);
  const SentenceSpan& span = map_[i];
  RandomState random(config_.seed + u32(i));
  std::vector<i32> text;
  for (i64 s = span.begin; s < span.end; ++s) {
    const std::size_t before = text.size();
    text.resize(before + std::size_t(sentences_->length(s)));
    sentences_->read(s, 0, std::span(text).subspan(before));
  }
  T5Sample out;
  out.is_truncated = text.size() > span.target;
  text.resize(std::min<std::size_t>(text.size(), span.target));

  const auto spans = mask_words(text, span.target, config_.kept, config_.masking, random, [](i64) {});
  check(spans.size() <= config_.sentinels.size(),
        "sample {} of {} has {} masked runs but there are {} sentinels: give more", i, sentences_->name(), spans.size(),
        config_.sentinels.size());
  i64 at = 0;
  for (std::size_t m = 0; m < spans.size(); ++m) {
    out.encoder_text.insert(out.encoder_text.end(), text.begin() + at, text.begin() + spans[m].front());
    out.encoder_text.push_back(config_.sentinels[m]), out.labels.push_back(config_.sentinels[m]);
    for (const i64 p : spans[m]) out.labels.push_back(text[std::size_t(p)]);
    at = spans[m].back() + 1;
  }
  out.encoder_text.insert(out.encoder_text.end(), text.begin() + at, text.end());
  out.decoder_text = {config_.bos};
  out.decoder_text.insert(out.decoder_text.end(), out.labels.begin(), out.labels.end());
  out.labels.push_back(config_.eos);

  const auto length = std::size_t(config_.seq_length), decoder = std::size_t(config_.seq_length_decoder);
  check(out.labels.size() <= decoder, "sample {} of {} needs {} tokens in the decoder, which has {}: lengthen it", i,
        sentences_->name(), out.labels.size(), decoder);
  out.encoder_mask.resize(out.encoder_text.size(), 1), out.encoder_mask.resize(length, 0);
  out.decoder_mask.resize(out.decoder_text.size(), 1), out.decoder_mask.resize(decoder, 0);
  out.loss_mask = out.decoder_mask;
  out.encoder_text.resize(length, config_.pad), out.decoder_text.resize(decoder, config_.pad);
  out.labels.resize(decoder, -1);
  return out;
}

}  // namespace megalith
