// Tokenizers that need no files: one for numbers, one for bytes.
#pragma once
#include <memory>

#include "tokens/tokenizer.h"

namespace megalith {

// Reads ids as numbers separated by white space. For data that is already tokenized, and for speed tests.
class NullTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kType = "NullTokenizer";

  NullTokenizer(i64 vocab_size, i32 eod, i32 pad) : vocab_size_(vocab_size), eod_(eod), pad_(pad) {}
  std::string_view name() const override { return kType; }
  i64 vocab_size() const override { return vocab_size_; }
  i32 eod() const override { return eod_; }
  i32 pad() const override { return pad_; }
  std::unique_ptr<TextEncoder> encoder() const override;
  std::string decode_bytes(std::span<const i32> ids) const override;

 private:
  i64 vocab_size_;
  i32 eod_, pad_;
};

// The id of a byte is its value; eod is 256.
class ByteTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kType = "ByteTokenizer";
  static constexpr i32 kEod = 256;

  std::string_view name() const override { return kType; }
  i64 vocab_size() const override { return kEod + 1; }
  i32 eod() const override { return kEod; }
  std::unique_ptr<TextEncoder> encoder() const override;
  std::string decode_bytes(std::span<const i32> ids) const override;  // eod gives no bytes
};

std::unique_ptr<Tokenizer> make_null_tokenizer(const TokenizerConfig& config);
std::unique_ptr<Tokenizer> make_byte_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
