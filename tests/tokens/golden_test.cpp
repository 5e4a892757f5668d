// Small tokenizers of every kind, trained by tests/golden/make_tokenizers.py: ids, texts and datasets equal those of
// transformers, tiktoken, sentencepiece and Megatron Core.
#include <nlohmann/json.hpp>

#include "tests/ckpt/torch/sha256.h"
#include "tests/golden.h"
#include "tests/tokens/helpers.h"
#include "tokens/preprocess.h"

namespace megalith {

using nlohmann::json;

namespace {

std::string file(const std::string& name) { return golden("tokenizers/" + name); }

json all_cases() { return json::parse(read_all(file("cases.json"))); }

TokenizerConfig config_of(const json& c) {
  const auto path = [&](const char* key) { return c.contains(key) ? file(c[key]) : std::string(); };
  TokenizerConfig config{.type = c["type"],
                         .vocab_file = path("vocab"),
                         .merge_file = path("merges"),
                         .tokenizer_model = path("model"),
                         .special_tokens_in_text = c["type"] != "TikTokenizer"};
  config.tiktoken_pattern = c.value("pattern", "");
  return config;
}

TokenizerConfig config_named(const json& all, const std::string& name) {
  for (const json& c : all["cases"])
    if (c["name"] == name) return config_of(c["config"]);
  fail("no tokenizer {}", name);
}

std::string digest_of(const std::string& path) {
  const std::string bytes = read_all(path);
  return sha256(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST(GoldenTokenizers, ids_and_texts_are_those_of_the_packages) {
  const json all = all_cases();
  EXPECT_EQ(all["cases"].size(), 8u);
  for (const json& c : all["cases"]) {
    const auto tokenizer = make_tokenizer(config_of(c["config"]));
    const auto encoder = tokenizer->encoder();
    for (std::size_t i = 0; i < all["texts"].size(); ++i) {
      const auto text = all["texts"][i].get<std::string>();
      const auto want = c["ids"][i].get<std::vector<i32>>();
      std::vector<i32> ids;
      encoder->encode(text, ids);
      EXPECT_EQ(ids, want) << c["name"] << ": " << text;
      EXPECT_EQ(tokenizer->decode(want), c["decoded"][i].get<std::string>()) << c["name"] << ": " << text;
    }
  }
}

TEST(GoldenTokenizers, datasets_are_megatrons_byte_for_byte) {
  const json all = all_cases();
  for (const json& want : all["datasets"]) {
    const TempDir dir;
    const PreprocessResult r = preprocess({.input = {file("corpus.jsonl")},
                                           .output_prefix = dir.file("d"),
                                           .append_eod = true,
                                           .workers = 2,
                                           .tokenizer = config_named(all, want["tokenizer"])});
    EXPECT_EQ(r.documents, want["documents"].get<i64>());
    EXPECT_EQ(r.tokens, want["tokens"].get<i64>());
    EXPECT_EQ(digest_of(dir.file("d_text_document.bin")), want["bin"].get<std::string>());
    EXPECT_EQ(digest_of(dir.file("d_text_document.idx")), want["idx"].get<std::string>());
  }
}

// The same pattern in a form that no scanner knows, so that PCRE2 is used.
TEST(GoldenTokenizers, scanners_equal_pcre2) {
  const TempDir dir;
  for (const std::string name : {"llama3", "qwen"}) {
    json spec = json::parse(read_all(file(name + ".tokenizer.json")));
    json& regex = spec["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
    regex = "(?:" + regex.get<std::string>() + ")";
    const TokenizerConfig config{.type = "HuggingFaceTokenizer", .tokenizer_model = file(name + ".tokenizer.json")};
    TokenizerConfig slow = config;
    slow.tokenizer_model = dir.write(name + ".json", spec.dump());
    const std::string text = read_all(std::string(kSourceDir) + "/README.md") + "\xff\xfe \u0e01\u0e31 \n\n  x";
    EXPECT_EQ(make_tokenizer(config)->encode(text), make_tokenizer(slow)->encode(text));
  }
}

}  // namespace megalith
