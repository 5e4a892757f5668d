#include "cli/absent_tokenizer.h"

#include <algorithm>
#include <filesystem>

namespace megalith {
namespace {

struct Vocabulary {
  const char* name;
  i64 entries;
};

// By type, where a type belongs to one vocabulary.
constexpr Vocabulary kTypes[] = {{"GPT2BPETokenizer", 50257},       {"Llama2Tokenizer", 32000},
                                 {"Llama3Tokenizer", 128256},       {"TikTokenizer", 131072},
                                 {"BertWordPieceLowerCase", 30522}, {"BertWordPieceCase", 28996}};

// By what a model's name or directory holds, in small letters; the first that fits.
constexpr Vocabulary kModels[] = {{"llama-3", 128256}, {"llama3", 128256},      {"llama-2", 32000},
                                  {"llama2", 32000},   {"mixtral-8x7b", 32000}, {"mistral-7b", 32000},
                                  {"qwen3", 151669},   {"qwen2.5", 151665},     {"qwen2", 151646},
                                  {"gpt2", 50257},     {"gpt-neox", 50277}};

bool is_there(const std::string& path) { return !path.empty() && std::filesystem::exists(path); }

std::string absent(const char* flag, const std::string& path) {
  return path.empty() ? std::string(flag) : fmt::format("{} {}", flag, path);
}

}  // namespace

std::string absent_file(const TokenizerConfig& t) {
  if (t.type.empty() || t.type == "NullTokenizer" || t.type == "ByteTokenizer") return {};
  const bool words = t.type.starts_with("BertWordPiece") || t.type == "GPT2BPETokenizer";
  if (!words) return is_there(t.tokenizer_model) ? "" : absent("--tokenizer-model", t.tokenizer_model);
  if (!is_there(t.vocab_file)) return absent("--vocab-file", t.vocab_file);
  return t.type != "GPT2BPETokenizer" || is_there(t.merge_file) ? "" : absent("--merge-file", t.merge_file);
}

std::optional<i64> public_vocabulary(const TokenizerConfig& t) {
  std::string name = t.tokenizer_model;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  for (const Vocabulary& v : kModels)
    if (name.find(v.name) != std::string::npos) return v.entries;
  for (const Vocabulary& v : kTypes)
    if (t.type == v.name) return v.entries;
  return std::nullopt;
}

}  // namespace megalith
