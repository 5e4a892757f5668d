// Reads vocab.json (token -> id, tokens in the byte alphabet) and merges.txt ("A B" per line, in order of rank).
#include <fstream>
#include <unordered_map>

#include "base/check.h"
#include "tokens/byte_alphabet.h"
#include "tokens/byte_bpe_tokenizer.h"
#include "tokens/json_text.h"
#include "tokens/unicode.h"

namespace megalith {

namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

using Vocab = std::unordered_map<std::string, i32>;

// Tokens by id. Ids must be 0, 1, 2, .. without holes, because they index the embedding's rows.
std::vector<std::string> tokens_by_id(const Vocab& vocab, const std::string& file) {
  std::vector<std::string> tokens(vocab.size());
  std::vector<bool> seen(vocab.size());
  for (const auto& [token, id] : vocab) {
    check(id >= 0 && size_t(id) < vocab.size(), "{}: token \"{}\" has id {}: {} tokens need the ids 0 to {}", file,
          token, id, vocab.size(), vocab.size() - 1);
    check(!seen[id], "{}: tokens \"{}\" and \"{}\" both have id {}: ids must differ", file, tokens[id], token, id);
    seen[id] = true;
    tokens[id] = token;
  }
  return tokens;
}

std::array<u32, 256> ids_of_bytes(const Vocab& vocab, const std::string& file) {
  std::array<u32, 256> ids{};
  for (int b = 0; b < 256; ++b) {
    std::string letter;
    append_utf8(letter, byte_alphabet()[b]);
    const auto found = vocab.find(letter);
    check(found != vocab.end(), "{}: no token for byte {} (\"{}\"): want a byte-level vocabulary like GPT-2's", file, b,
          letter);
    ids[b] = u32(found->second);
  }
  return ids;
}

struct MergeLine {
  const std::string& file;
  i64 number;  // from 1
  std::string_view text;
};

BpeMerges::Rule parse_rule(const MergeLine& line, u32 rank, const Vocab& vocab) {
  const size_t space = line.text.find(' ');
  const bool two = space != std::string_view::npos && space > 0 && space + 1 < line.text.size() &&
                   line.text.find(' ', space + 1) == std::string_view::npos;
  check(two, "{}:{}: \"{}\" is not a merge rule: want two tokens and one space", line.file, line.number, line.text);
  const auto id_of = [&](const std::string& token) {
    const auto found = vocab.find(token);
    check(found != vocab.end(), "{}:{}: token \"{}\" is not in the vocabulary: do the two files belong together?",
          line.file, line.number, token);
    return u32(found->second);
  };
  const std::string left(line.text.substr(0, space)), right(line.text.substr(space + 1));
  return {.left = id_of(left), .right = id_of(right), .merge = {.rank = rank, .id = id_of(left + right)}};
}

std::vector<BpeMerges::Rule> read_merges(const std::string& file, const Vocab& vocab) {
  std::ifstream in(file);
  check(in.is_open(), "--merge-file {}: cannot be read: does it exist?", file);
  std::vector<BpeMerges::Rule> rules;
  std::string line;
  for (i64 number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    rules.push_back(parse_rule({file, number, line}, u32(rules.size()), vocab));
  }
  return rules;
}

}  // namespace

std::unique_ptr<Tokenizer> make_gpt2_tokenizer(const TokenizerConfig& config) {
  check(!config.vocab_file.empty(), "GPT2BPETokenizer needs --vocab-file: give the path of vocab.json");
  check(!config.merge_file.empty(), "GPT2BPETokenizer needs --merge-file: give the path of merges.txt");
  Vocab vocab;
  for (auto& [token, id] : read_json_numbers(config.vocab_file)) vocab.insert_or_assign(std::move(token), id);
  vocab.try_emplace(std::string(kEndOfText), i32(vocab.size()));
  for (i64 i = 0; i < config.vocab_extra_ids; ++i) vocab.try_emplace(sentinel_name(i), i32(vocab.size()));
  std::vector<std::string> tokens = tokens_by_id(vocab, config.vocab_file);
  for (std::string& token : tokens) token = bytes_of_token(token);
  const std::array<u32, 256> byte_ids = ids_of_bytes(vocab, config.vocab_file);
  const i32 eod = vocab.at(std::string(kEndOfText));
  ByteBpeParts parts{.name = kGpt2Type,
                     .bpe = {BpeMerges(byte_ids, read_merges(config.merge_file, vocab))},
                     .pattern = SplitPattern::gpt2,
                     .token_bytes = std::move(tokens),
                     .eod = eod,
                     .bos = eod};  // GPT-2 has one token for both
  if (config.special_tokens_in_text) parts.special.add(kEndOfText, eod);
  for (i64 i = 0; i < config.vocab_extra_ids && config.special_tokens_in_text; ++i)
    parts.special.add(sentinel_name(i), vocab.at(sentinel_name(i)));
  return std::make_unique<ByteBpeTokenizer>(std::move(parts));
}

}  // namespace megalith
