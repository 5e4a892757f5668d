#include "tokens/tokenizer.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "base/check_no_pipe.h"
#include "base/escape.h"
#include "base/lfs_pointer.h"
#include "tokens/byte_bpe_tokenizer.h"
#include "tokens/hf/hf_tokenizer.h"
#include "tokens/sentencepiece_tokenizer.h"
#include "tokens/simple_tokenizers.h"
#include "tokens/unicode.h"

namespace megalith {

std::vector<i32> Tokenizer::encode(std::string_view text) const {
  std::vector<i32> out;
  encoder()->encode(text, out);
  return out;
}

i32 Tokenizer::find(std::string_view) const { return kNone; }

std::string Tokenizer::decode(std::span<const i32> ids) const { return replace_invalid_utf8(decode_bytes(ids)); }

namespace {

struct Kind {
  std::string_view type;
  std::unique_ptr<Tokenizer> (*make)(const TokenizerConfig&);
};
constexpr Kind kKinds[] = {
    {kGpt2Type, make_gpt2_tokenizer},
    {hf::kHuggingFaceType, hf::make_hugging_face_tokenizer},
    {"SFTTokenizer", hf::make_hugging_face_tokenizer},
    {"BertWordPieceLowerCase", hf::make_bert_lower_tokenizer},
    {"BertWordPieceCase", hf::make_bert_case_tokenizer},
    {"SentencePieceTokenizer", make_sentencepiece_tokenizer},
    {"GPTSentencePieceTokenizer", make_sentencepiece_tokenizer},
    {"Llama2Tokenizer", make_sentencepiece_tokenizer},
    {kTikType, make_tik_tokenizer},
    {kLlama3Type, make_llama3_tokenizer},
    {NullTokenizer::kType, make_null_tokenizer},
    {ByteTokenizer::kType, make_byte_tokenizer},
};

void check_table(const char* flag, const std::string& file) {
  check_no_pipe(fmt::format("{} {}", flag, file), file);
  check(file.empty() || std::filesystem::exists(file), "{} {}: no such file", flag, file);
  check(!std::filesystem::is_directory(file), "{} {} is a folder: give the file in it", flag, file);
  check_no_lfs_pointer(file);
}

constexpr i64 kMostExtraIds = 1 << 20;

void check_sentinels(const Tokenizer& tokenizer, i64 count) {
  check(count == 0 || tokenizer.find(sentinel_name(count - 1)) != Tokenizer::kNone,
        "--vocab-extra-ids {}: {} has no token {}, and none can be added to it: leave the flag out, or give "
        "BertWordPieceLowerCase, BertWordPieceCase or GPT2BPETokenizer",
        count, tokenizer.name(), sentinel_name(count - 1));
}

// Messages quote text of files, which may have several lines.
std::unique_ptr<Tokenizer> make(const Kind& kind, const TokenizerConfig& config) {
  try {
    check_no_pipe("--tokenizer-model " + config.tokenizer_model, config.tokenizer_model);
    for (const std::string& file : {config.tokenizer_model, config.tokenizer_model + "/tokenizer.json"})
      check_no_lfs_pointer(file);
    check_table("--vocab-file", config.vocab_file);
    check_table("--merge-file", config.merge_file);
    check(config.vocab_extra_ids >= 0 && config.vocab_extra_ids <= kMostExtraIds,
          "--vocab-extra-ids {} is out of range: give 0 to {}", config.vocab_extra_ids, kMostExtraIds);
    std::unique_ptr<Tokenizer> made = kind.make(config);
    check_sentinels(*made, config.vocab_extra_ids);
    return made;
  } catch (const Error& e) {
    throw Error(escape_controls(e.what()));
  }
}

}  // namespace

std::string sentinel_name(i64 number) { return fmt::format("<extra_id_{}>", number); }

std::string default_tokenizer_type(const TokenizerConfig& config) {
  return std::string(config.vocab_file.empty() || config.merge_file.empty() ? "" : kGpt2Type);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerConfig& config) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.type == config.type) return make(kind, config);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.type);
  }
  fail("--tokenizer-type \"{}\" is not supported: use one of {}", config.type, known);
}

}  // namespace megalith
