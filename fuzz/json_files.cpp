#include "fuzz/json_files.h"

#include "base/dtype.h"
#include "tokens/byte_alphabet.h"
#include "tokens/unicode.h"

namespace megalith::fuzz {

using nlohmann::json;

json byte_vocab() {
  json vocab = json::object();
  for (u32 c : byte_alphabet()) {
    std::string letter;
    append_utf8(letter, c);
    vocab[letter] = vocab.size();
  }
  for (const char* token : {"th", "the", "Ġthe", "ab", "abab"}) vocab[token] = vocab.size();
  return vocab;
}

namespace {

json byte_file() {
  const json level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"added_tokens",
           {{{"id", 0}, {"content", "<s>"}, {"special", true}, {"lstrip", true}, {"rstrip", true}},
            {{"id", 0}, {"content", "world"}, {"single_word", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", level},
          {"decoder", level},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}},
            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {3}}}}}}}},
          {"model", {{"type", "BPE"}, {"vocab", byte_vocab()}, {"merges", {"t h", "th e", "Ġ the", "a b", "ab ab"}}}}};
}

}  // namespace

std::vector<json> tokenizer_files() {
  std::vector<json> all;
  const json words = {{"<unk>", 0}, {"H", 1},  {"##e", 2},    {"l", 3},     {"o", 4},
                      {"▁", 5},     {"▁l", 6}, {"<0xC3>", 7}, {"<0xA9>", 8}};
  const auto small = [&](const json& changes) {
    json file = {{"added_tokens", json::array()},
                 {"model",
                  {{"type", "BPE"},
                   {"vocab", words},
                   {"merges", {"▁ l"}},
                   {"unk_token", "<unk>"},
                   {"byte_fallback", true},
                   {"fuse_unk", true}}}};
    file.update(changes);
    all.push_back(file);
  };
  for (const char* type :
       {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel", "BertNormalizer", "Strip"})
    small({{"normalizer", {{"type", type}}}});
  small({{"normalizer",
          {{"type", "Sequence"},
           {"normalizers",
            {{{"type", "Prepend"}, {"prepend", "▁"}},
             {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}},
             {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", "x"}}}}}}});
  small({{"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "CAAAAAAEAAABAAAAYQA="}}}});
  for (const char* type :
       {"Metaspace", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "FixedLength"})
    small({{"pre_tokenizer",
            {{"type", type},
             {"replacement", "▁"},
             {"behavior", "Isolated"},
             {"length", 3},
             {"individual_digits", true}}}});
  for (const char* regex : {"\\p{L}+|\\s(?!\\S)|[^\\r\\n\\p{N}]?", "(?i:'s|'t)|\\w+|[a-z\\d]{1,3}|\\h|(?m:.)"})
    small({{"pre_tokenizer",
            {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "MergedWithNext"}, {"invert", false}}}});
  for (const char* type : {"Metaspace", "WordPiece", "ByteFallback", "Fuse", "Strip", "BPEDecoder", "CTC"})
    small({{"decoder", {{"type", type}}}});
  small(
      {{"model", {{"type", "WordPiece"}, {"vocab", words}, {"unk_token", "<unk>"}, {"max_input_chars_per_word", 9}}}});
  small({{"model", {{"type", "WordLevel"}, {"vocab", words}, {"unk_token", "<unk>"}}}});
  small({{"model",
          {{"type", "Unigram"},
           {"unk_id", 0},
           {"byte_fallback", true},
           {"vocab", json::array({json::array({"<unk>", 0.0}), json::array({"l", -1.5}), json::array({"lo", -2.0}),
                                  json::array({"▁", -3.0}), json::array({"<0xC3>", -4.0})})}}}});
  all.push_back(byte_file());
  json qwen = byte_file();
  qwen["normalizer"] = {{"type", "NFC"}}, qwen["model"]["ignore_merges"] = true;
  all.push_back(qwen);
  return all;
}

}  // namespace megalith::fuzz
