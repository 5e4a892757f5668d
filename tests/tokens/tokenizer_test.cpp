#include "tokens/tokenizer.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/tokens/helpers.h"

namespace megalith {

using nlohmann::json;

TEST(Gpt2Tokenizer, encodes_the_vectors) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  const auto tokenizer = make_tokenizer(gpt2_config(false));
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->eod(), 50256);
  const auto encoder = tokenizer->encoder();
  const json vectors = json::parse(read_all(shared("formats/vectors/tokenizers.json")));
  for (const json& v : vectors.at("cases")) {
    const auto text = v.at("text").get<std::string>();
    std::vector<i32> ids;
    encoder->encode(text, ids);
    EXPECT_EQ(ids, v.at("gpt2").get<std::vector<i32>>()) << text;
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

TEST(Gpt2Tokenizer, decodes_the_vectors) {
  if (!has_shared("formats/vectors/tokenizer_decode.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizer_decode.json");
  const auto tokenizer = make_tokenizer(gpt2_config());
  const json vectors = json::parse(read_all(shared("formats/vectors/tokenizer_decode.json")));
  for (const json& v : vectors.at("gpt2")) {
    const auto ids = v.at("ids").get<std::vector<i32>>();
    EXPECT_EQ(tokenizer->decode(ids), v.at("text").get<std::string>());
    std::string hex;
    for (u8 b : tokenizer->decode_bytes(ids)) hex += fmt::format("{:02x}", b);
    EXPECT_EQ(hex, v.at("bytes_hex").get<std::string>());
  }
}

TEST(Gpt2Tokenizer, tokens_of_all_of_tiny_shakespeare) {
  if (!has_shared("data/tiny-shakespeare.txt")) GTEST_SKIP() << "no " << shared("data/tiny-shakespeare.txt");
  const std::string text = read_all(shared("data/tiny-shakespeare.txt"));
  const auto tokenizer = make_tokenizer(gpt2_config());
  const auto ids = tokenizer->encode(text);
  EXPECT_EQ(ids.size(), 338025u);  // tiny_shakespeare_tokens.json, whole_file_tokens
  EXPECT_EQ(tokenizer->decode(ids), text);
}

TEST(Gpt2Tokenizer, cuts_and_merges) {
  const TempDir dir;
  const auto t = make_tokenizer(tiny_config(dir));
  EXPECT_EQ(t->name(), "GPT2BPETokenizer");
  EXPECT_EQ(t->vocab_size(), 264);
  EXPECT_EQ(t->eod(), 263);
  EXPECT_EQ(t->encode(""), std::vector<i32>{});
  EXPECT_EQ(t->encode("the the"), (std::vector<i32>{257, 258}));
  EXPECT_EQ(t->encode("  the"), (std::vector<i32>{' ', 258}));
  EXPECT_EQ(t->encode("abababa"), (std::vector<i32>{260, 259, 'a'}));
}

TEST(Gpt2Tokenizer, finds_end_of_text_when_asked) {
  const TempDir dir;
  TokenizerConfig config = tiny_config(dir);
  EXPECT_EQ(make_tokenizer(config)->encode("the <|endoftext|><|endoftext|> the<|endof"),
            (std::vector<i32>{257, ' ', 263, 263, 258, '<', '|', 'e', 'n', 'd', 'o', 'f'}));
  config.special_tokens_in_text = false;
  EXPECT_EQ(make_tokenizer(config)->encode("<|endoftext|>").size(), 13u);
}

// Opening a pipe would wait for a writer.
TEST(Tokenizer, is_not_read_from_pipes) {
  const TempDir dir;
  const std::string pipe = dir.file("pipe"), said = pipe + ": it is not a regular file: give one";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  TokenizerConfig config = tiny_config(dir);
  config.merge_file = pipe;
  EXPECT_EQ(error_of([&] { make_tokenizer(config); }), "--merge-file " + said);
  config = tiny_config(dir), config.vocab_file = pipe;
  EXPECT_EQ(error_of([&] { make_tokenizer(config); }), "--vocab-file " + said);
  for (const char* type : {"SentencePieceTokenizer", "TikTokenizer", "HuggingFaceTokenizer"})
    EXPECT_EQ(error_of([&] { make_tokenizer({.type = type, .tokenizer_model = pipe}); }), "--tokenizer-model " + said);
  std::filesystem::rename(pipe, dir.file("tokenizer.json"));
  const std::string inner = dir.file("tokenizer.json");
  EXPECT_EQ(error_of([&] { make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = dir.path}); }),
            inner + ": it is not a regular file: give one");
}

TEST(Gpt2Tokenizer, adds_a_missing_end_of_text) {
  const TempDir dir;
  TokenizerConfig config = tiny_config(dir);
  std::string vocab = read_all(config.vocab_file);
  vocab.erase(vocab.rfind(", \"<|endoftext|>\""));
  config.vocab_file = dir.write("without.json", vocab + "}");
  EXPECT_EQ(make_tokenizer(config)->eod(), 263);
}

TEST(Gpt2Tokenizer, gives_back_any_bytes) {
  const TempDir dir;
  const auto t = make_tokenizer(tiny_config(dir));
  const auto encoder = t->encoder();  // one for all texts: its cache must not confuse words
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string text = random_bytes(random, random() % 50);
    if (round % 2) {
      for (char& c : text) c = " \n'sabthe"[u8(c) % 9];
    }
    std::vector<i32> ids = {-7};  // encode appends
    encoder->encode(text, ids);
    ASSERT_EQ(ids[0], -7);
    ASSERT_EQ(t->decode_bytes(std::span(ids).subspan(1)), text);
    ASSERT_EQ(t->encode(text), std::vector<i32>(ids.begin() + 1, ids.end()));
  }
}

TEST(Gpt2Tokenizer, keeps_words_apart_that_differ_in_zero_bytes_only) {
  const TempDir dir;
  const auto t = make_tokenizer(tiny_config(dir));
  const auto encoder = t->encoder();
  for (size_t size : {1, 2, 3, 14, 15, 16}) {
    std::vector<i32> ids;
    encoder->encode(std::string(size, '\0'), ids);
    EXPECT_EQ(ids, std::vector<i32>(size, 0));
  }
}

TEST(Gpt2Tokenizer, says_what_is_wrong_with_its_files) {
  const TempDir dir;
  const TokenizerConfig good = tiny_config(dir);
  const auto error = [&](auto&& change) {
    TokenizerConfig c = good;
    change(c);
    return error_of([&] { make_tokenizer(c); });
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  contains(error([](auto& c) { c.vocab_file = ""; }), "--vocab-file");
  contains(error([](auto& c) { c.merge_file = ""; }), "--merge-file");
  contains(error([](auto& c) { c.vocab_file = "/no/vocab.json"; }), "/no/vocab.json");
  contains(error([](auto& c) { c.merge_file = "/no/merges.txt"; }), "/no/merges.txt");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "{\"a\": 1"); }), "want a file with one JSON object");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "[1]"); }), "not a JSON object");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "{\"a\": \"x\"}"); }), "the id of \"a\" is \"x\"");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "{\"a\": 9}"); }), "has id 9");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "{\"a\": 0, \"b\": 0}"); }), "id");
  contains(error([&](auto& c) { c.vocab_file = dir.write("v", "{\"a\": 0}"); }), "no token for byte 0");
  contains(error([&](auto& c) { c.merge_file = dir.write("m", "#version: 0.2\nt h\nth\n"); }),
           ":3: \"th\" is not a merge rule");
  contains(error([&](auto& c) { c.merge_file = dir.write("m", "t h\nq q\n"); }),
           ":2: token \"qq\" is not in the vocabulary");
  contains(error([&](auto& c) { c.type = "GPT3"; }), "GPT2BPETokenizer, HuggingFaceTokenizer");
}

TEST(Tokenizer, refuses_ids_outside_the_vocabulary) {
  const TempDir dir;
  for (const TokenizerConfig& config : {tiny_config(dir), TokenizerConfig{.type = "ByteTokenizer"},
                                        TokenizerConfig{.type = "NullTokenizer", .vocab_size = 99}}) {
    const auto t = make_tokenizer(config);
    for (i32 id : {-1, i32(t->vocab_size())}) {
      const std::vector<i32> ids = {id};
      EXPECT_NE(error_of([&] { t->decode(ids); }).find(fmt::format("token id {} is outside", id)), std::string::npos);
    }
  }
}

TEST(NullTokenizer, reads_numbers) {
  const auto t = make_tokenizer({.type = "NullTokenizer", .vocab_size = 100});
  EXPECT_EQ(t->eod(), 99);
  EXPECT_EQ(t->pad(), -1);
  EXPECT_EQ(t->encode("1 2  99\n0"), (std::vector<i32>{1, 2, 99, 0}));
  EXPECT_EQ(t->encode("  "), std::vector<i32>{});
  EXPECT_EQ(t->decode(std::vector<i32>{1, 2, 99}), "1 2 99");
  EXPECT_NE(error_of([&] { t->encode("1 100"); }).find("100 is outside the vocabulary"), std::string::npos);
  EXPECT_NE(error_of([&] { t->encode("1 2x"); }).find("\"2x\" is not a token id"), std::string::npos);
  EXPECT_NE(error_of([&] { t->encode("-1"); }).find("-1 is outside"), std::string::npos);
  EXPECT_NE(error_of([&] { t->encode("99999999999999999999"); }), "");
  EXPECT_NE(error_of([] { make_tokenizer({.type = "NullTokenizer"}); }).find("--vocab-size is 0"), std::string::npos);
  EXPECT_EQ(make_tokenizer({.type = "NullTokenizer", .vocab_size = 100, .null_eod_id = 0})->eod(), 0);
}

TEST(ByteTokenizer, bytes_and_eod) {
  const auto t = make_tokenizer({.type = "ByteTokenizer"});
  EXPECT_EQ(t->vocab_size(), 257);
  EXPECT_EQ(t->encode(std::string_view("a\0\xff", 3)), (std::vector<i32>{97, 0, 255}));
  EXPECT_EQ(t->decode(std::vector<i32>{104, 105, t->eod()}), "hi");
  EXPECT_EQ(t->decode(std::vector<i32>{0xC3}), "\uFFFD");
}

}  // namespace megalith
