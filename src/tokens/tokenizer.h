// Converts text to token ids and back. All tokenizers have this interface, and the run's flags choose one.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Encodes texts for one thread. It caches recent words.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text` to `out`. Adds no bos or eod, except what a tokenizer.json adds.
  virtual void encode(std::string_view text, std::vector<i32>& out) = 0;
};

// Immutable, so all threads may share it.
class Tokenizer {
 public:
  static constexpr i32 kNone = -1;  // no such special token

  virtual ~Tokenizer() = default;
  virtual std::string_view name() const = 0;  // the spelling of --tokenizer-type
  virtual i64 vocab_size() const = 0;         // ids are below it; without padding
  virtual i32 eod() const { return kNone; }   // end of document
  virtual i32 bos() const { return kNone; }
  virtual i32 pad() const { return kNone; }
  // Whether the token is special, other than padding.
  virtual bool is_special(i32 id) const { return id != kNone && (id == eod() || id == bos()); }

  // The id of the token with this text in the vocabulary. kNone if there is none, or if tokens have no names.
  virtual i32 find(std::string_view token) const;

  // An encoder; must not outlive the tokenizer.
  virtual std::unique_ptr<TextEncoder> encoder() const = 0;
  std::vector<i32> encode(std::string_view text) const;

  // The bytes of `ids`, which may end inside a UTF-8 character. An id outside the vocabulary is an error.
  virtual std::string decode_bytes(std::span<const i32> ids) const = 0;
  // The same as valid UTF-8: each invalid sequence becomes U+FFFD.
  std::string decode(std::span<const i32> ids) const;
};

struct TokenizerConfig {
  std::string type = {};             // a name that make_tokenizer knows
  std::string vocab_file = {};       // GPT2BPETokenizer: vocab.json
  std::string merge_file = {};       // GPT2BPETokenizer: merges.txt
  std::string tokenizer_model = {};  // the file or directory of all other types
  i64 vocab_size = 0;                // NullTokenizer; TikTokenizer with Megatron's file, where 0 means 131072
  i32 null_eod_id = -1;              // NullTokenizer: -1 means vocab_size - 1
  i32 null_pad_id = -1;              // NullTokenizer
  // TikTokenizer: v1 or v2 with Megatron's file (empty: v2). With a file of ranks any name of split_pattern.h (empty:
  // the number of ranks decides).
  std::string tiktoken_pattern = {};
  i64 tiktoken_num_special = 1000;  // TikTokenizer with Megatron's file: number of ids before the ranks
  // TikTokenizer: names of the special tokens; empty means <unk> ... with Megatron's file, OpenAI's with a file of
  // ranks.
  std::vector<std::string> tiktoken_special_tokens = {};
  // BertWordPiece*, GPT2BPETokenizer: number of sentinels <extra_id_0>, <extra_id_1>, .. after the vocabulary, for
  // T5. Other vocabularies must contain them.
  i64 vocab_extra_ids = 0;
  // The texts of special tokens, e.g. "<|endoftext|>", become these tokens, as in Megatron since February 2026 and in
  // Hugging Face. false: they are split like other text, as by tiktoken's encode_ordinary and older releases.
  bool special_tokens_in_text = true;
  // HuggingFaceTokenizer, BertWordPiece*: encode() omits the special tokens around a text ([CLS] ... [SEP], a bos).
  bool hf_no_special_tokens = false;
};

// The text of a T5's sentinel.
std::string sentinel_name(i64 number);

// The default type: GPT2BPETokenizer with a vocabulary and merges, as in Megatron; otherwise empty.
std::string default_tokenizer_type(const TokenizerConfig& config);

// Fails if the type is unknown, a required file is missing or damaged, or a number is out of range.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
