#include "data/mock_source.h"

#include "base/check.h"
#include "data/pcg64.h"

namespace megalith {
namespace {

constexpr i64 kDocuments = 100000;
constexpr i32 kLengthEnd = 4096;

}  // namespace

MockSource::MockSource(i64 vocab_size, i64 eod) : vocab_size_(vocab_size), eod_(eod), lengths_(kDocuments) {
  check(vocab_size > 0, "--mock-data needs a vocabulary: give --vocab-size, or a tokenizer");
  check(eod >= 0 && eod < vocab_size,
        "--mock-data needs an end of document within the vocabulary of {}, this tokenizer's is {}: use another one",
        vocab_size, eod);
  Pcg64 random(0);
  for (i32& length : lengths_) length = 1 + i32(random.below(kLengthEnd - 1));
}

void MockSource::read(i64 sequence, i64 offset, std::span<i32> out) const {
  const i64 count = i64(out.size());
  check(sequence >= 0 && sequence < sequences() && offset >= 0 && offset <= length(sequence) - count,
        "mock data has no tokens {} to {} in document {}", offset, offset + count, sequence);
  for (i64 i = 0; i < count; ++i) {
    const bool last = offset + i + 1 == length(sequence);
    out[std::size_t(i)] = i32(last ? eod_ : (offset + i + 1) % vocab_size_);
  }
}

}  // namespace megalith
