#include "data/mock_sentences.h"

#include "base/check.h"
#include "data/pcg64.h"

namespace megalith {

MockSentences::MockSentences(i64 tokens) : tokens_(tokens) {
  constexpr i64 kMockDocuments = 10000;
  check(tokens > 0,
        "--mock-data needs a vocabulary of more than its special tokens: give --vocab-size, or a tokenizer");
  Pcg64 random(0);
  for (i64 d = 0; d < kMockDocuments; ++d) {
    const i64 sentences = 4 + i64(random.below(16));
    for (i64 s = 0; s < sentences; ++s) begins_.push_back(begins_.back() + 4 + i64(random.below(24)));
    documents_.push_back(i64(begins_.size()) - 1);
  }
}

// The first token of a document follows from its position.
void MockSentences::read(i64 sentence, i64 offset, std::span<i32> out) const {
  const i64 count = i64(out.size());
  check(sentence >= 0 && sentence < sequences() && offset >= 0 && offset <= length(sentence) - count,
        "mock data has no tokens {} to {} in sentence {}", offset, offset + count, sentence);
  const i64 at = begins_[std::size_t(sentence)] + offset;
  for (i64 i = 0; i < count; ++i) out[std::size_t(i)] = i32((at + i) % tokens_);
}

}  // namespace megalith
