// Byte-level BPE as in GPT-2 and tiktoken. It finds special tokens, cuts the rest by a pattern, and encodes each
// piece.
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
  std::vector<std::string> token_bytes;  // by id; empty for ids without a token
  SpecialTokens special = {};            // those to find in the text
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

// From vocab.json and merges.txt. A missing <|endoftext|> becomes the last id, as in Hugging Face.
std::unique_ptr<Tokenizer> make_gpt2_tokenizer(const TokenizerConfig& config);
// From Megatron's .json list, or from tiktoken's file of ranks.
std::unique_ptr<Tokenizer> make_tik_tokenizer(const TokenizerConfig& config);
// From Llama 3's tokenizer.model: ranks, then Meta's 256 special tokens.
std::unique_ptr<Tokenizer> make_llama3_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
