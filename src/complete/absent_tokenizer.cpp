#include "complete/absent_tokenizer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace megalith {
namespace {

struct Vocabulary {
  std::string_view name;
  i64 entries;  // with the added tokens, as len(AutoTokenizer) counts
};

// For types that have one vocabulary. Sources: transformers' GPT2Config, LlamaConfig and BertConfig; Megatron Core's
// tiktoken_tokenizer.py; MllamaConfig for Llama 3.
constexpr Vocabulary kTypes[] = {{"GPT2BPETokenizer", 50257},       {"Llama2Tokenizer", 32000},
                                 {"Llama3Tokenizer", 128256},       {"TikTokenizer", 131072},
                                 {"BertWordPieceLowerCase", 30522}, {"BertWordPieceCase", 28996}};

// By a model's name in lower case. Configurations hold padded sizes. Those of Qwen and GPT-NeoX are the lengths of
// their tokenizers: QwenLM/Qwen3 issue 29, QwenLM/Qwen3-VL issue 1402, EleutherAI/pythia issue 68. Qwen3's is the
// first id that derived models add.
constexpr Vocabulary kModels[] = {
    {"llama-3", 128256},   {"llama-3.1", 128256},   {"llama-3.2", 128256}, {"llama-3.3", 128256}, {"llama3", 128256},
    {"llama3.1", 128256},  {"llama3.2", 128256},    {"llama3.3", 128256},  {"llama-2", 32000},    {"llama2", 32000},
    {"mistral-7b", 32000}, {"mixtral-8x7b", 32000}, {"qwen1.5", 151646},   {"qwen2", 151646},     {"qwen2.5", 151665},
    {"qwen3", 151669},     {"gpt2", 50257},         {"gpt-neox", 50277},   {"pythia", 50277}};

// Models with these words in their names have other vocabularies.
constexpr std::string_view kOthers[] = {"vl", "vision", "audio", "omni", "v0.3", "chinese", "japanese"};

bool is_word_in(std::string_view text, std::string_view word) {
  return ("-" + std::string(text) + "-").find("-" + std::string(word) + "-") != std::string::npos;
}

// "meta-llama-3-8b" and "llama-3.model" match "llama-3"; "llama-3.1-8b" does not.
bool is_of(std::string_view part, std::string_view name) {
  if (part.starts_with("meta-")) part.remove_prefix(5);
  if (!part.starts_with(name)) return false;
  const std::string_view rest = part.substr(name.size());
  for (const std::string_view other : kOthers)
    if (is_word_in(rest, other)) return false;
  const bool suffix = rest.size() > 1 && rest[0] == '.' && std::isalpha(static_cast<unsigned char>(rest[1])) != 0;
  return rest.empty() || rest[0] == '-' || rest[0] == '_' || suffix;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

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
  const std::string path = lower_case(t.tokenizer_model), words = lower_case(t.vocab_file);
  for (const auto& part : std::filesystem::path(path))
    for (const Vocabulary& v : kModels)
      if (is_of(part.string(), v.name)) return v.entries;
  for (const std::string_view language : {"multilingual", "chinese", "japanese"})
    if (words.find(language) != std::string::npos) return std::nullopt;
  for (const Vocabulary& v : kTypes)
    if (t.type == v.name) return v.entries;
  return std::nullopt;
}

}  // namespace megalith
