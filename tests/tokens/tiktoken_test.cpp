// Tokenizers from tiktoken's ranks: OpenAI's files, Megatron's and Llama 3's.
#include <nlohmann/json.hpp>

#include "tests/tokens/helpers.h"
#include "tokens/split_pattern.h"
#include "tokens/tiktoken_ranks.h"

namespace megalith {

using nlohmann::json;

namespace {

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    u32 bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? u8(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

// The single bytes, then `more`.
std::vector<std::string> ranked(const std::vector<std::string>& more) {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.push_back(std::string(1, char(b)));
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

std::string rank_lines(const std::vector<std::string>& tokens) {
  std::string lines;
  for (size_t i = 0; i < tokens.size(); ++i) lines += base64(tokens[i]) + " " + std::to_string(i) + "\n";
  return lines;
}

std::string megatron_json(const std::vector<std::string>& tokens) {
  json list = json::array();
  for (size_t i = 0; i < tokens.size(); ++i)
    list.push_back({{"rank", i}, {"token_bytes", base64(tokens[i])}, {"token_str", nullptr}});
  return list.dump();
}

// Any pair whose bytes are a token may merge: the lowest rank first, the leftmost of equal ones.
std::vector<i32> by_definition(const std::string& piece, const StringMap<i32>& ranks) {
  if (const auto whole = ranks.find(piece); whole != ranks.end()) return {whole->second};
  std::vector<std::string> s;
  for (char c : piece) s.push_back(std::string(1, c));
  for (;;) {
    i32 best = std::numeric_limits<i32>::max();
    size_t at = 0;
    for (size_t i = 0; i + 1 < s.size(); ++i) {
      const auto found = ranks.find(s[i] + s[i + 1]);
      if (found != ranks.end() && found->second < best) best = found->second, at = i;
    }
    if (best == std::numeric_limits<i32>::max()) break;
    s[at] += s[at + 1];
    s.erase(s.begin() + i64(at) + 1);
  }
  std::vector<i32> ids;
  for (const std::string& token : s) ids.push_back(ranks.find(token)->second);
  return ids;
}

}  // namespace

TEST(TikTokenizer, encodes_the_vectors_of_cl100k) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  const auto t = make_tokenizer({.type = "TikTokenizer", .tokenizer_model = shared("data/cl100k_base.tiktoken")});
  EXPECT_EQ(t->vocab_size(), 100277);
  EXPECT_EQ(t->eod(), 100257);
  const json vectors = json::parse(read_all(shared("formats/vectors/tokenizers.json")));
  TokenizerConfig plain{.type = "TikTokenizer", .tokenizer_model = shared("data/cl100k_base.tiktoken")};
  plain.special_tokens_in_text = false;
  const auto ordinary = make_tokenizer(plain);
  for (const json& v : vectors.at("cases")) {
    const auto text = v.at("text").get<std::string>();
    const auto ids = ordinary->encode(text);
    EXPECT_EQ(ids, v.at("cl100k").get<std::vector<i32>>()) << text;
    EXPECT_EQ(ordinary->decode(ids), text);
  }
  EXPECT_EQ(t->encode("a<|endoftext|>b"), (std::vector<i32>{64, 100257, 65}));
  EXPECT_EQ(t->encode(read_all(shared("data/tiny-shakespeare.txt"))).size(), 301829u);
}

// Random tokens, some of which no merge reaches, and some only merges of higher rank.
TEST(TikTokenizer, merges_as_defined) {
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> more;
    for (int i = 0; i < 60; ++i) {
      std::string token(2 + random() % 6, ' ');
      for (char& c : token) c = "abc"[random() % 3];
      if (std::find(more.begin(), more.end(), token) == more.end()) more.push_back(token);
    }
    const std::vector<std::string> tokens = ranked(more);
    StringMap<i32> ranks;
    for (size_t i = 0; i < tokens.size(); ++i) ranks[tokens[i]] = i32(i);
    const ByteBpe bpe = bpe_of_ranks(tokens, 0, "test");
    const auto encoder = make_byte_encoder(SplitPattern::none, bpe);
    for (int k = 0; k < 100; ++k) {
      std::string text(1 + random() % (k == 0 ? 400 : 20), ' ');
      for (char& c : text) c = "abcd"[random() % (k % 2 ? 3 : 4)];
      std::vector<i32> ids;
      encoder->encode(text, ids);
      ASSERT_EQ(ids, by_definition(text, ranks)) << text;
    }
  }
}

TEST(TikTokenizer, megatron_file_has_special_tokens_first) {
  const TempDir dir;
  const std::string file = dir.write("vocab.json", megatron_json(ranked({"th", "the", " the", "unused"})));
  TokenizerConfig c{.type = "TikTokenizer", .tokenizer_model = file};
  c.vocab_size = 259 + 10, c.tiktoken_num_special = 10;
  const auto t = make_tokenizer(c);
  EXPECT_EQ(t->vocab_size(), 269);
  EXPECT_EQ(t->eod(), 2);
  EXPECT_EQ(t->bos(), 1);
  EXPECT_EQ(t->pad(), 4);
  EXPECT_EQ(t->encode("the the</s><SPECIAL_9>1"), (std::vector<i32>{267, 268, 2, 9, 10 + '1'}));
  EXPECT_EQ(t->decode(std::vector<i32>{267, 268, 2, 9}), "the the</s><SPECIAL_9>");
  c.vocab_size = 0;
  EXPECT_NE(error_of([&] { make_tokenizer(c); }).find("260 tokens are too few"), std::string::npos);
  c.vocab_size = 269, c.tiktoken_pattern = "cl100k";
  EXPECT_NE(error_of([&] { make_tokenizer(c); }).find("use v1 or v2"), std::string::npos);
  c.tiktoken_pattern = "v1", c.tiktoken_special_tokens = {"<s>"};
  EXPECT_NE(error_of([&] { make_tokenizer(c); }).find("must name \"<unk>\""), std::string::npos);
  c.tiktoken_special_tokens = {"</s>", "<s>", "<unk>", "<mask>", "<pad>", "<cls>", "<sep>", "<mine>"};
  EXPECT_EQ(make_tokenizer(c)->eod(), 0);
  EXPECT_EQ(make_tokenizer(c)->encode("<mine>"), std::vector<i32>{7});
}

TEST(Llama3Tokenizer, has_metas_special_tokens) {
  const TempDir dir;
  const auto t = make_tokenizer(
      {.type = "Llama3Tokenizer", .tokenizer_model = dir.write("tokenizer.model", rank_lines(ranked({"12", "123"})))});
  EXPECT_EQ(t->vocab_size(), 258 + 256);
  EXPECT_EQ(t->bos(), 258);
  EXPECT_EQ(t->eod(), 259);
  EXPECT_EQ(t->encode("<|begin_of_text|>1234<|eot_id|>"), (std::vector<i32>{258, 257, '4', 267}));
  EXPECT_EQ(t->encode("<|reserved_special_token_2|>"), std::vector<i32>{258 + 11});
  EXPECT_EQ(t->encode("<|reserved_special_token_246|>"), std::vector<i32>{258 + 255});
}

TEST(TikTokenizer, says_what_is_wrong_with_its_files) {
  const TempDir dir;
  const auto error = [&](const std::string& text) {
    TokenizerConfig c{.type = "TikTokenizer", .tokenizer_model = dir.write("r", text)};
    c.tiktoken_pattern = text.starts_with('[') ? "v2" : "cl100k";
    const std::string said = error_of([&] { make_tokenizer(c); });
    EXPECT_EQ(said.find('\n'), std::string::npos);
    return said;
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string good = rank_lines(ranked({}));
  contains(error(""), "no tokens");
  contains(error("IQ==\n"), ":1: \"IQ==\" is not a token");
  contains(error("IQ== x\n"), ":1: \"x\" is not a rank");
  contains(error("I!== 0\n"), "\"I!==\" is not base64");
  contains(error("IQ== 0\nIQ== 0\n"), "two tokens have rank 0");
  contains(error("IQ== 0\nIQ== 1\n"), "ranks 0 and 1 have the same token");
  contains(error("IQ== 16000000\n"), "too many holes");
  contains(error("IQ== 0\n"), "no token for byte 0");
  contains(error(good + base64(std::string(2000, 'a')) + " 256\n"), "2000 bytes long");
  contains(error("[1]"), "entry 0 is 1");
  contains(error("[{\"rank\": 1, \"token_bytes\": \"IQ==\"}]"), "entry 0 has rank 1");
  contains(error("[{\"rank\": 0,"), "want a file with one JSON list");
  TokenizerConfig c{.type = "TikTokenizer", .tokenizer_model = dir.write("r", good)};
  contains(error_of([&] { make_tokenizer(c); }), "name its pattern with --tiktoken-pattern");
  c.tiktoken_pattern = "gpt5";
  contains(error_of([&] { make_tokenizer(c); }), "use one of gpt2, llama3, qwen, cl100k, o200k, v1, v2");
  c.tokenizer_model = "/no/file";
  contains(error_of([&] { make_tokenizer(c); }), "/no/file");
}

}  // namespace megalith
