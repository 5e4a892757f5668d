// TikTokenizer and Llama3Tokenizer: ranks, a pattern, and special tokens before or after the ranks.
#include <algorithm>
#include <fstream>
#include <limits>

#include "base/check.h"
#include "tokens/byte_bpe_tokenizer.h"
#include "tokens/json_text.h"
#include "tokens/tiktoken_ranks.h"

namespace megalith {

namespace {

struct Special {
  i64 id;
  std::string_view text;
};

// OpenAI's encodings (tiktoken, openai_public.py), identified by their number of ranks. The first special token is
// the end of a document.
struct Encoding {
  size_t ranks;
  SplitPattern pattern;
  std::vector<Special> special;
};

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> all = {
      {50256, SplitPattern::gpt2, {{50256, "<|endoftext|>"}}},
      {100256,
       SplitPattern::cl100k,
       {{100257, "<|endoftext|>"},
        {100258, "<|fim_prefix|>"},
        {100259, "<|fim_middle|>"},
        {100260, "<|fim_suffix|>"},
        {100276, "<|endofprompt|>"}}},
      {151643, SplitPattern::qwen, {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}}},
      {199998, SplitPattern::o200k, {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}},
  };
  return all;
}

void add_special(ByteBpeParts& parts, i64 id, std::string_view text, bool in_text) {
  if (i64(parts.token_bytes.size()) <= id) parts.token_bytes.resize(size_t(id) + 1);
  parts.token_bytes[size_t(id)] = text;
  if (in_text) parts.special.add(text, i32(id));
}

bool is_json(const std::string& file) {
  std::ifstream in(file);
  check(in.is_open(), "--tokenizer-model {}: cannot be read: does it exist?", file);
  char first = 0;
  in >> first;
  return first == '[' || first == '{';
}

std::vector<std::string> megatron_special(const TokenizerConfig& c) {
  constexpr std::string_view kNeeded[] = {"<unk>", "<s>", "</s>", "<mask>", "<pad>", "<cls>", "<sep>"};
  std::vector<std::string> names = c.tiktoken_special_tokens;
  if (names.empty()) names.assign(std::begin(kNeeded), std::end(kNeeded));
  for (const std::string_view needed : kNeeded) {
    check(std::count(names.begin(), names.end(), needed) == 1,
          "--tiktoken-special-tokens must name \"{}\" once: Megatron needs it", needed);
  }
  check(i64(names.size()) <= c.tiktoken_num_special,
        "--tiktoken-num-special-tokens is {}, but there are {} special tokens: give more room", c.tiktoken_num_special,
        names.size());
  while (i64(names.size()) < c.tiktoken_num_special) names.push_back(fmt::format("<SPECIAL_{}>", names.size()));
  return names;
}

// Megatron's file: special tokens have the first ids. It uses only as many ranks as the vocabulary has room for.
std::unique_ptr<Tokenizer> make_megatron(const TokenizerConfig& c) {
  constexpr i64 kDefaultVocab = i64{1} << 17, kMost = i64{1} << 24;
  const i64 size = c.vocab_size ? c.vocab_size : kDefaultVocab, special = c.tiktoken_num_special;
  check(special > 0 && special < size && size <= kMost,
        "--tiktoken-num-special-tokens is {} of --vocab-size {}: want from 7 to less than the vocabulary, and that at "
        "most {}",
        special, size, kMost);
  const std::string pattern = c.tiktoken_pattern.empty() ? "v2" : c.tiktoken_pattern;
  check(pattern == "v1" || pattern == "v2", "--tiktoken-pattern \"{}\" does not go with Megatron's file: use v1 or v2",
        pattern);
  const std::vector<std::string> names = megatron_special(c);
  std::vector<std::string> tokens = read_json_ranks(c.tokenizer_model);
  check(i64(tokens.size()) >= size - special,
        "{}: {} tokens are too few for a vocabulary of {} with {} special ones: give a smaller --vocab-size",
        c.tokenizer_model, tokens.size(), size, special);
  tokens.resize(size_t(size - special));
  for (std::string& token : tokens) token = decode_base64(token, c.tokenizer_model);
  ByteBpeParts parts{.name = kTikType,
                     .bpe = bpe_of_ranks(tokens, i32(special), c.tokenizer_model),
                     .pattern = split_pattern_of(pattern, "--tiktoken-pattern"),
                     .token_bytes = {}};
  for (size_t id = 0; id < names.size(); ++id) {
    add_special(parts, i64(id), names[id], c.special_tokens_in_text);
    if (names[id] == "</s>") parts.eod = i32(id);
    if (names[id] == "<s>") parts.bos = i32(id);
    if (names[id] == "<pad>") parts.pad = i32(id);
  }
  parts.token_bytes.insert(parts.token_bytes.end(), tokens.begin(), tokens.end());
  return std::make_unique<ByteBpeTokenizer>(std::move(parts));
}

std::vector<Special> special_behind(const std::vector<std::string>& names, size_t ranks) {
  std::vector<Special> special;
  for (size_t i = 0; i < names.size(); ++i) special.push_back({i64(ranks + i), names[i]});
  return special;
}

std::unique_ptr<Tokenizer> make_openai(const TokenizerConfig& c) {
  std::vector<std::string> tokens = read_ranks(c.tokenizer_model);
  const auto& all = encodings();
  const auto known = std::find_if(all.begin(), all.end(), [&](const Encoding& e) { return e.ranks == tokens.size(); });
  check(known != all.end() || !c.tiktoken_pattern.empty(),
        "{}: a file of {} ranks is none of OpenAI's: name its pattern with --tiktoken-pattern", c.tokenizer_model,
        tokens.size());
  const SplitPattern pattern =
      c.tiktoken_pattern.empty() ? known->pattern : split_pattern_of(c.tiktoken_pattern, "--tiktoken-pattern");
  std::vector<Special> special;
  if (!c.tiktoken_special_tokens.empty()) {
    special = special_behind(c.tiktoken_special_tokens, tokens.size());
  } else if (known != all.end()) {
    special = known->special;
  }
  ByteBpeParts parts{
      .name = kTikType, .bpe = bpe_of_ranks(tokens, 0, c.tokenizer_model), .pattern = pattern, .token_bytes = tokens};
  for (const Special& s : special) add_special(parts, s.id, s.text, c.special_tokens_in_text);
  for (const Special& s : special) {
    if (s.text == "<|endoftext|>" || s.text == "<|end_of_text|>" || s.text == "</s>") parts.eod = i32(s.id);
  }
  return std::make_unique<ByteBpeTokenizer>(std::move(parts));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tik_tokenizer(const TokenizerConfig& c) {
  check(!c.tokenizer_model.empty(),
        "TikTokenizer needs --tokenizer-model: give Megatron's .json file or a file of tiktoken's ranks");
  return is_json(c.tokenizer_model) ? make_megatron(c) : make_openai(c);
}

std::unique_ptr<Tokenizer> make_llama3_tokenizer(const TokenizerConfig& c) {
  check(!c.tokenizer_model.empty(), "Llama3Tokenizer needs --tokenizer-model: give Meta's tokenizer.model");
  std::vector<std::string> tokens = read_ranks(c.tokenizer_model);
  ByteBpeParts parts{.name = kLlama3Type,
                     .bpe = bpe_of_ranks(tokens, 0, c.tokenizer_model),
                     .pattern = SplitPattern::llama3,
                     .token_bytes = tokens};
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>"};
  for (int n = 2; names.size() < 256; ++n) names.push_back(fmt::format("<|reserved_special_token_{}|>", n));
  for (const Special& s : special_behind(names, tokens.size()))
    add_special(parts, s.id, s.text, c.special_tokens_in_text);
  const i32 first = i32(tokens.size());
  parts.bos = first, parts.eod = first + 1, parts.pad = first + 4;
  return std::make_unique<ByteBpeTokenizer>(std::move(parts));
}

}  // namespace megalith
