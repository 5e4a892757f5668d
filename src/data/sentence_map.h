// The sentences of each sample of a masked dataset (BERT, T5): Megatron's build_mapping.
#pragma once
#include <optional>
#include <vector>

#include "data/token_source.h"

namespace megalith {

struct SentenceMapRequest {
  std::optional<i64> samples = {};  // repeats epochs up to this many; empty: one epoch
  i64 max_length = 0;               // tokens of a sample without special tokens
  double short_probability = 0;     // of a sample with a shorter target; rounded to 1 / n
  u32 seed = 1234;
  i64 min_sentences = 1;  // documents with fewer are skipped
};

// Sentences begin .. end - 1, to be truncated to `target` tokens.
struct SentenceSpan {
  u32 begin = 0, end = 0, target = 0;
  bool operator==(const SentenceSpan&) const = default;
};

// `document_begins`: the first sentence of each document, then the end. Skips documents of several sentences if one
// has more than 512 tokens. Error, with the source's name, if no document is left, or if there are too many
// sentences.
std::vector<SentenceSpan> build_sentence_map(const TokenSource& sentences, const std::vector<i64>& document_begins,
                                             const SentenceMapRequest& request);

}  // namespace megalith
