#include "tokens/simple_tokenizers.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/escape.h"

namespace megalith {

namespace {

class NullEncoder : public TextEncoder {
 public:
  explicit NullEncoder(i64 vocab_size) : vocab_size_(vocab_size) {}

  void encode(std::string_view text, std::vector<i32>& out) override {
    constexpr std::string_view kBlank = " \t\n\v\f\r";
    for (size_t i = 0; (i = text.find_first_not_of(kBlank, i)) != std::string_view::npos;) {
      const size_t end = std::min(text.find_first_of(kBlank, i), text.size());
      out.push_back(number(text.substr(i, end - i)));
      i = end;
    }
  }

 private:
  i32 number(std::string_view word) const {
    i64 value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool ok = error == std::errc() && stop == word.data() + word.size();
    if (!ok)
      fail("\"{}\" is not a token id: with NullTokenizer the text must have integers, separated by spaces",
           escape_controls(word.substr(0, 40)));
    check(value >= 0 && value < vocab_size_, "token id {} is outside the vocabulary: want 0 to {} (--vocab-size {})",
          value, vocab_size_ - 1, vocab_size_);
    return i32(value);
  }

  i64 vocab_size_;
};

class EachByteEncoder : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<i32>& out) override {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    out.insert(out.end(), bytes, bytes + text.size());
  }
};

}  // namespace

std::unique_ptr<TextEncoder> NullTokenizer::encoder() const { return std::make_unique<NullEncoder>(vocab_size_); }

std::string NullTokenizer::decode_bytes(std::span<const i32> ids) const {
  std::string out;
  for (i32 id : ids) {
    check(id >= 0 && id < vocab_size_, "token id {} is outside the vocabulary: want 0 to {}", id, vocab_size_ - 1);
    if (!out.empty()) out += ' ';
    out += std::to_string(id);
  }
  return out;
}

std::unique_ptr<TextEncoder> ByteTokenizer::encoder() const { return std::make_unique<EachByteEncoder>(); }

std::string ByteTokenizer::decode_bytes(std::span<const i32> ids) const {
  std::string out;
  for (i32 id : ids) {
    check(id >= 0 && id <= kEod, "token id {} is outside the vocabulary: want 0 to {}", id, kEod);
    if (id < kEod) out += char(id);
  }
  return out;
}

std::unique_ptr<Tokenizer> make_null_tokenizer(const TokenizerConfig& c) {
  constexpr i64 kMost = std::numeric_limits<i32>::max();
  check(c.vocab_size > 0 && c.vocab_size <= kMost, "--vocab-size is {}: NullTokenizer needs a number from 1 to {}",
        c.vocab_size, kMost);
  const i64 eod = c.null_eod_id == -1 ? c.vocab_size - 1 : c.null_eod_id;
  check(eod >= 0 && eod < c.vocab_size, "--null-tokenizer-eod-id {} is outside the vocabulary: want 0 to {}", eod,
        c.vocab_size - 1);
  check(c.null_pad_id >= -1 && c.null_pad_id < c.vocab_size,
        "--null-tokenizer-pad-id {} is outside the vocabulary: want -1 (none) to {}", c.null_pad_id, c.vocab_size - 1);
  return std::make_unique<NullTokenizer>(c.vocab_size, i32(eod), c.null_pad_id);
}

std::unique_ptr<Tokenizer> make_byte_tokenizer(const TokenizerConfig&) { return std::make_unique<ByteTokenizer>(); }

}  // namespace megalith
