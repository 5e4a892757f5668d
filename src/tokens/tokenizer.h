// Text to token ids and back: one interface for all kinds of tokenizers, made from the run's flags.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Encodes text after text for one thread: holds what speeds up the next call (the words seen last).
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text` to `out`. Adds no bos or eod, but for what a tokenizer.json says to add.
  virtual void encode(std::string_view text, std::vector<i32>& out) = 0;
};

// Immutable, so any number of threads may use it.
class Tokenizer {
 public:
  static constexpr i32 kNone = -1;  // a special token that the tokenizer does not have

  virtual ~Tokenizer() = default;
  virtual std::string_view name() const = 0;  // the spelling of --tokenizer-type
  virtual i64 vocab_size() const = 0;         // ids are below it; not padded
  virtual i32 eod() const { return kNone; }   // end of document
  virtual i32 bos() const { return kNone; }
  virtual i32 pad() const { return kNone; }
  // Whether the token is special in another way than as padding.
  virtual bool is_special(i32 id) const { return id != kNone && (id == eod() || id == bos()); }

  // The id of the token that is written so in the vocabulary; kNone if there is none, or tokens have no names.
  virtual i32 find(std::string_view token) const;

  // An encoder; must not outlive the tokenizer.
  virtual std::unique_ptr<TextEncoder> encoder() const = 0;
  std::vector<i32> encode(std::string_view text) const;

  // The bytes that `ids` stand for; they may end amid a UTF-8 character. An id outside the vocabulary is an error.
  virtual std::string decode_bytes(std::span<const i32> ids) const = 0;
  // The same as valid UTF-8: each broken sequence becomes U+FFFD.
  std::string decode(std::span<const i32> ids) const;
};

struct TokenizerConfig {
  std::string type = {};             // one of those that make_tokenizer knows
  std::string vocab_file = {};       // GPT2BPETokenizer: vocab.json
  std::string merge_file = {};       // GPT2BPETokenizer: merges.txt
  std::string tokenizer_model = {};  // the file, or directory, of all others
  i64 vocab_size = 0;                // NullTokenizer; TikTokenizer with Megatron's file, where 0 means 131072
  i32 null_eod_id = -1;              // NullTokenizer: -1 means vocab_size - 1
  i32 null_pad_id = -1;              // NullTokenizer
  // TikTokenizer: v1 or v2 with Megatron's file (empty: v2); with a file of ranks any name of split_pattern.h (empty:
  // told from the number of ranks).
  std::string tiktoken_pattern = {};
  i64 tiktoken_num_special = 1000;  // TikTokenizer with Megatron's file: ids before the ranks
  // TikTokenizer: names of the special tokens; empty means <unk> ... with Megatron's file, OpenAI's with a file of
  // ranks.
  std::vector<std::string> tiktoken_special_tokens = {};
  // BertWordPiece*, GPT2BPETokenizer: so many sentinels <extra_id_0>, <extra_id_1>, .. behind the vocabulary, for T5.
  // Others must have them.
  i64 vocab_extra_ids = 0;
  // The texts of special tokens, e.g. "<|endoftext|>", are these tokens, as in Megatron since February 2026 and in
  // Hugging Face; false splits them like any other text, as tiktoken's encode_ordinary and older releases do.
  bool special_tokens_in_text = true;
  // HuggingFaceTokenizer, BertWordPiece*: encode() leaves out what the tokenizer puts around a text ([CLS] ... [SEP], a
  // bos).
  bool hf_no_special_tokens = false;
};

// The text of a T5's sentinel.
std::string sentinel_name(i64 number);

// The type where none is given: GPT2BPETokenizer with a vocabulary and merges, as in Megatron; else empty.
std::string default_tokenizer_type(const TokenizerConfig& config);

// Fails if the type is unknown, a file it needs is missing or broken, or a number is out of range.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
