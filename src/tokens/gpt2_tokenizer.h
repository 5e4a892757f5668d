// GPT-2's tokenizer from vocab.json and merges.txt: cut by Gpt2Split, byte-pair encoding per piece.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tokens/bpe.h"
#include "tokens/tokenizer.h"

namespace megalith {

class Gpt2Tokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kType = "GPT2BPETokenizer";
  static constexpr std::string_view kEndOfText = "<|endoftext|>";

  // token_bytes[id]: what the id stands for. special_in_text: see TokenizerConfig.
  Gpt2Tokenizer(BpeMerges merges, std::vector<std::string> token_bytes, i32 eod, bool special_in_text);

  std::string_view name() const override { return kType; }
  i64 vocab_size() const override { return i64(token_bytes_.size()); }
  i32 eod() const override { return eod_; }
  i32 bos() const override { return eod_; }  // GPT-2 uses the one token for both
  std::unique_ptr<TextEncoder> encoder() const override;
  std::string decode_bytes(std::span<const i32> ids) const override;

 private:
  BpeMerges merges_;
  std::vector<std::string> token_bytes_;
  i32 eod_;
  bool special_in_text_;
};

// Reads the files; a missing <|endoftext|> is added after the last id, as Hugging Face does.
std::unique_ptr<Tokenizer> make_gpt2_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
