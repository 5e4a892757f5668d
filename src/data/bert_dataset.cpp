#include "data/bert_dataset.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/check.h"

namespace megalith {
namespace {

using Piece = std::deque<i32>;

void append(Piece& piece, const TokenSource& sentences, i64 begin, i64 end) {
  for (i64 s = begin; s < end; ++s) {
    std::vector<i32> tokens(std::size_t(sentences.length(s)));
    sentences.read(s, 0, tokens);
    piece.insert(piece.end(), tokens.begin(), tokens.end());
  }
}

// Removes tokens from the ends of the longer segment until both fit.
bool truncate(Piece& a, Piece& b, std::size_t target, RandomState& random) {
  const bool too_long = a.size() + b.size() > target;
  while (a.size() + b.size() > target) {
    Piece& longer = a.size() > b.size() ? a : b;
    if (random.next_double() < 0.5)
      longer.pop_front();
    else
      longer.pop_back();
  }
  return too_long;
}

}  // namespace

BertDataset::BertDataset(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
                         std::optional<i64> samples, BertConfig config)
    : sentences_(std::move(sentences)),
      config_(std::move(config)),
      map_(load_or_build_sentence_map(*sentences_, document_begins,
                                      {.samples = samples,
                                       .max_length = config_.seq_length - 3,  // [CLS] and two [SEP]
                                       .short_probability = config_.masking.short_probability,
                                       .seed = config_.seed,
                                       .min_sentences = config_.sentence_order ? 2 : 1},
                                      config_.cache_path)) {
  check(config_.vocab_size > 0, "a BERT dataset needs the size of its vocabulary");
}

BertSample BertDataset::get(i64 i) const {
  check(i >= 0 && i < size(), "{} has {} samples: there is no sample {}", sentences_->name(), size(), i);
  const SentenceSpan& span = map_[i];
  const i64 count = span.end - span.begin;
  RandomState random(config_.seed + u32(i));
  const auto length = std::size_t(config_.seq_length);
  BertSample out{.text = {}, .types = {}, .labels = std::vector<i32>(length, -1), .padding_mask = {}, .loss_mask = {}};

  Piece a, b;
  i64 pivot = count;
  if (config_.sentence_order) {
    pivot = count >= 3 ? 1 + i64(random.interval(u64(count - 2))) : 1;
    out.is_swapped = random.next_double() < 0.5;
  }
  append(a, *sentences_, span.begin, span.begin + pivot);
  append(b, *sentences_, span.begin + pivot, span.end);
  if (out.is_swapped) std::swap(a, b);
  out.is_truncated = truncate(a, b, span.target, random);

  out.text.push_back(config_.cls);
  out.text.insert(out.text.end(), a.begin(), a.end()), out.text.push_back(config_.sep);
  out.types.resize(out.text.size(), 0);
  if (!b.empty()) out.text.insert(out.text.end(), b.begin(), b.end()), out.text.push_back(config_.sep);
  out.types.resize(out.text.size(), 1);

  const std::vector<i32> whole = out.text;
  mask_words(whole, span.target, std::array{config_.cls, config_.sep}, config_.masking, random, [&](i64 p) {
    i32& token = out.text[std::size_t(p)];
    out.labels[std::size_t(p)] = token;
    if (random.next_double() < 0.8)
      token = config_.mask;
    else if (random.next_double() >= 0.5)
      token = i32(random.interval(u64(config_.vocab_size - 1)));
  });
  out.padding_mask.resize(out.text.size(), 1), out.padding_mask.resize(length, 0);
  out.text.resize(length, config_.pad), out.types.resize(length, config_.pad);
  for (i32 label : out.labels) out.loss_mask.push_back(label >= 0 ? 1 : 0);
  return out;
}

}  // namespace megalith
