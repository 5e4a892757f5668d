// Byte-level BPE as GPT-2 and tiktoken have it: special tokens out, cut by a pattern, byte-pair encoding per piece.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tokens/byte_bpe.h"
#include "tokens/special_tokens.h"
#include "tokens/split_pattern.h"
#include "tokens/tokenizer.h"

namespace megalith {

struct ByteBpeParts {
  std::string_view name;  // the spelling of --tokenizer-type
  ByteBpe bpe;
  SplitPattern pattern;
  std::vector<std::string> token_bytes;  // by id; empty for ids that no token has
  SpecialTokens special = {};            // those that are looked for in the text
  i32 eod = Tokenizer::kNone, bos = Tokenizer::kNone, pad = Tokenizer::kNone;
};

class ByteBpeTokenizer : public Tokenizer {
 public:
  explicit ByteBpeTokenizer(ByteBpeParts parts) : parts_(std::move(parts)) {}

  std::string_view name() const override { return parts_.name; }
  i64 vocab_size() const override { return i64(parts_.token_bytes.size()); }
  i32 eod() const override { return parts_.eod; }
  i32 bos() const override { return parts_.bos; }
  i32 pad() const override { return parts_.pad; }
  i32 find(std::string_view token) const override;  // by its bytes
  std::unique_ptr<TextEncoder> encoder() const override;
  std::string decode_bytes(std::span<const i32> ids) const override;

 private:
  ByteBpeParts parts_;
};

inline constexpr std::string_view kGpt2Type = "GPT2BPETokenizer";
inline constexpr std::string_view kTikType = "TikTokenizer";
inline constexpr std::string_view kLlama3Type = "Llama3Tokenizer";

// vocab.json and merges.txt; a missing <|endoftext|> is added after the last id, as Hugging Face does.
std::unique_ptr<Tokenizer> make_gpt2_tokenizer(const TokenizerConfig& config);
// A .json list of Megatron's, or a file of tiktoken's ranks.
std::unique_ptr<Tokenizer> make_tik_tokenizer(const TokenizerConfig& config);
// tokenizer.model of Llama 3: ranks, behind them Meta's 256 special tokens.
std::unique_ptr<Tokenizer> make_llama3_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
