#include "tests/tokens/fuzz_targets.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/check.h"
#include "tokens/byte_alphabet.h"
#include "tokens/tokenizer.h"
#include "tokens/unicode.h"

namespace megalith {

using nlohmann::json;

namespace {

constexpr std::string_view kText =
    "Hello world's  12345 the \xC3\xA9\xCC\x81 \xE4\xB8\xAD\xE6\x96\x87 <s>x</s>\n\n "
    "\xF0\x9F\x91\x8D\xFF\xE2\x96\x81\x00 don't"
    "ababababab";

void expect(bool ok, const char* what) {
  if (!ok) throw std::logic_error(what);
}

void write(const std::string& file, std::string_view text) {
  std::ofstream(file, std::ios::binary).write(text.data(), std::streamsize(text.size()));
}

// Encodes and decodes; ids must be tokens.
void use(const Tokenizer& t, std::string_view text) {
  const std::vector<i32> ids = t.encode(text);
  for (i32 id : ids) expect(id >= 0 && id < t.vocab_size(), "an id is outside the vocabulary");
  expect(t.eod() < t.vocab_size() && t.bos() < t.vocab_size() && t.pad() < t.vocab_size(), "a special id is outside");
  t.decode(ids);
}

void load(std::string_view type, const std::string& file, std::string_view bytes) {
  write(file, bytes);
  TokenizerConfig c{.type = std::string(type), .tokenizer_model = file};
  c.tiktoken_pattern = bytes.starts_with('[') ? "v2" : "o200k";
  c.tiktoken_num_special = 8, c.vocab_size = 8 + 258;
  use(*make_tokenizer(c), kText);
}

void load_gpt2(const std::string& file, std::string_view bytes) {
  const size_t cut = std::min(bytes.find('\0'), bytes.size());
  write(file, bytes.substr(0, cut));
  write(file + ".merges", bytes.substr(std::min(cut + 1, bytes.size())));
  use(*make_tokenizer({.type = "GPT2BPETokenizer", .vocab_file = file, .merge_file = file + ".merges"}), kText);
}

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

// A seed per component, as few bytes as it can be.
std::vector<json> json_seeds() {
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

std::string varint(u64 n) {
  std::string out;
  for (; n >= 128; n >>= 7) out += char((n & 127) | 128);
  return out + char(n);
}
std::string field(u64 number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number(u64 field, u64 value) { return varint(field << 3) + varint(value); }

// ModelProto: pieces, trainer_spec with the type and byte_fallback, normalizer_spec with or without a table.
std::string sentencepiece_seed(u64 type, bool fallback, const std::string& table) {
  std::string model;
  const auto piece = [&](const std::string& text, float score, u64 kind) {
    std::string p = field(1, text) + varint(2 << 3 | 5) + std::string(reinterpret_cast<const char*>(&score), 4);
    model += field(1, p + number(3, kind));
  };
  piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3);
  if (fallback) {
    for (int b = 0; b < 256; ++b) piece(fmt::format("<0x{:02X}>", b), 0, 6);
  }
  float score = -1;
  for (const char* text : {"l", "o", "▁", "▁l", "lo", "▁lo", "the", "t", "h", "e", "th"}) piece(text, score--, 1);
  piece("world", 0, 4), piece("x", -3, 5);
  model += field(2, number(3, type) + number(35, fallback) + number(40, 0) + number(41, 1) + number(42, 2));
  return model + field(3, (table.empty() ? "" : field(2, table)) + number(3, 1) + number(4, 1) + number(5, 1));
}

// A table with one key: "a", or any number of them, becomes "b". A double array of 512 units: the root's children are
// at 256 ^ byte, and so are those of 'a', whose value is at 256.
std::string charsmap_seed() {
  std::vector<u32> units(512);
  units[0] = 1u << 10 | 0x200;
  units[256 ^ 'a'] = u32('a') << 10 | 0x100 | 'a';
  units[256] = 0x80000000;
  const u32 size = u32(units.size() * sizeof(u32));
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) +
         std::string(reinterpret_cast<const char*>(units.data()), size) + std::string("b\0", 2);
}

std::string base64(u8 byte) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
}

}  // namespace

bool fuzz_one(std::string_view input, const std::string& file) {
  if (input.empty()) return true;
  const auto target = FuzzTarget(u8(input[0]) % u8(FuzzTarget::end));
  input.remove_prefix(1);
  try {
    switch (target) {
      case FuzzTarget::tokenizer_json:
        load("HuggingFaceTokenizer", file, input);
        return true;
      case FuzzTarget::sentencepiece_model:
        load("SentencePieceTokenizer", file, input);
        return true;
      case FuzzTarget::ranks:
        load("Llama3Tokenizer", file, input);
        return true;
      case FuzzTarget::megatron_ranks:
        load("TikTokenizer", file, input);
        return true;
      case FuzzTarget::gpt2_files:
        load_gpt2(file, input);
        return true;
      default:
        break;
    }
    static const std::vector<std::unique_ptr<Tokenizer>> tokenizers = [&] {
      std::vector<std::unique_ptr<Tokenizer>> all;
      for (const json& seed : json_seeds()) {
        write(file, seed.dump());
        all.push_back(make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = file}));
      }
      return all;
    }();
    if (!input.empty()) use(*tokenizers[u8(input[0]) % tokenizers.size()], input.substr(1));
  } catch (const Error& e) {
    expect(std::string_view(e.what()).find('\n') == std::string_view::npos, "an error of more than one line");
    return false;
  }
  return true;
}

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> seeds;
  const auto add = [&](FuzzTarget target, const std::string& input) { seeds.push_back(char(target) + input); };
  for (const json& seed : json_seeds()) add(FuzzTarget::tokenizer_json, seed.dump());
  const std::string table = charsmap_seed();
  for (u64 type : {1, 2, 3, 4})
    add(FuzzTarget::sentencepiece_model, sentencepiece_seed(type, type == 2, type == 1 ? table : ""));
  std::string ranks, list = "[", vocab = byte_vocab().dump();
  for (int b = 0; b < 256; ++b) {
    ranks += fmt::format("{} {}\n", base64(u8(b)), b);
    list += fmt::format("{}{{\"rank\":{},\"token_bytes\":\"{}\"}}", b ? "," : "", b, base64(u8(b)));
  }
  add(FuzzTarget::ranks, ranks + "dGg= 256\ndGhl 257\n");
  add(FuzzTarget::megatron_ranks, list + R"(,{"rank":256,"token_bytes":"dGg="},{"rank":257,"token_bytes":"dGhl"}])");
  add(FuzzTarget::gpt2_files, vocab + '\0' + "#version: 0.2\nt h\nth e\n");
  for (int k = 0; k < 36; ++k) add(FuzzTarget::text, char(k) + std::string(kText));
  return seeds;
}

}  // namespace megalith
