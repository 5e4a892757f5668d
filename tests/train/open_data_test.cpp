// Tests of fill-in-the-middle flags with a tokenizer file.
#include "train/open_data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/check.h"
#include "data/indexed_dataset_writer.h"
#include "files.h"
#include "options_helpers.h"

namespace megalith {
namespace {

// A tokenizer of letters with the special tokens of fill-in-the-middle. "th" and "er" can be one token.
std::string tokenizer_json() {
  std::string vocabulary, added;
  int id = 0;
  for (const char* token : {"<s>", "<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"}) {
    added += fmt::format(R"({}{{"id": {}, "content": "{}", "special": true}})", id ? ", " : "", id, token);
    vocabulary += fmt::format("{}\"{}\": {}", id ? ", " : "", token, id);
    ++id;
  }
  for (char c = 'a'; c <= 'z'; ++c) vocabulary += fmt::format(", \"{}\": {}", c, id++);
  for (const char* piece : {"Ġ", "th", "er"}) vocabulary += fmt::format(", \"{}\": {}", piece, id++);
  return fmt::format(R"({{"added_tokens": [{}], "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false}},
    "post_processor": {{"type": "TemplateProcessing", "single": [{{"SpecialToken": {{"id": "<s>", "type_id": 0}}}},
    {{"Sequence": {{"id": "A", "type_id": 0}}}}], "pair": [], "special_tokens": {{"<s>": {{"id": "<s>", "ids": [0],
    "tokens": ["<s>"]}}}}}}, "decoder": {{"type": "ByteLevel"}},
    "model": {{"type": "BPE", "vocab": {{{}}}, "merges": [["t", "h"], ["e", "r"]]}}}})",
                     added, vocabulary);
}

constexpr const char* kTexts[] = {"the other brother there", "her mother gathers feathers", "weather or whether"};

}  // namespace

TEST(OpenData, FillsInTheMiddleOfRealText) {
  const TempFolder folder("fim");
  write_file(folder.path / "tokenizer.json", tokenizer_json());
  const std::string flags = fmt::format(
      "{} --mock-data=false --data-path {} --split 1,0,0 --fim-data --fim-rate 1 --tokenizer-type HuggingFaceTokenizer "
      "--tokenizer-model {} ",
      kSmallRun, (folder.path / "text").string(), folder.path.string());
  Options o = options_of(flags);
  o.data.seq_length = o.model.seq_length;
  TokenizerConfig bare = o.tokenizer;
  bare.hf_no_special_tokens = true;
  const auto tokenizer = make_tokenizer(bare);
  const i32 eod = tokenizer->find("<|endoftext|>");
  {
    IndexedDatasetWriter writer((folder.path / "text").string(), TokenType::uint16);
    for (int i = 0; i < 60; ++i) {  // one document fills a sample and leaves space for the special tokens
      std::vector<i32> tokens = tokenizer->encode(kTexts[i % 3]);
      tokens.resize(32, eod);
      writer.add_sequence(tokens);
      writer.end_document();
    }
    writer.finish();
  }
  o.data.eod = eod;
  const auto train = open_datasets(o, {.train = 50}).train;
  for (i64 i = 0; i < 50; ++i) {
    Batch one{.sequences = 1, .seq_length = 32};
    for (const SampleArray& array : train->arrays()) one.arrays[array.name] = empty_array(array, 1);
    train->get(i, SampleRow(one, 0));
    const std::vector<i32>& tokens = one.ints("tokens");
    const std::string text =
        tokenizer->decode(std::span(tokens).first(std::ranges::find(tokens, eod) - tokens.begin()));
    EXPECT_EQ(text.find("<s>"), text.npos) << text;  // a fragment has no bos
    const auto suffix = text.find("<fim_suffix>"), middle = text.find("<fim_middle>");
    ASSERT_TRUE(text.starts_with("<fim_prefix>") && suffix < middle && middle != text.npos) << text;
    const std::string a = text.substr(12, suffix - 12), b = text.substr(suffix + 12, middle - suffix - 12),
                      c = text.substr(middle + 12);
    EXPECT_EQ(std::ranges::count(kTexts, a.empty() ? c + b : a + c + b), 1) << text;
  }
  o.data.fim.pad_token = "<pad>";
  try {
    open_datasets(o, {.train = 50});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "--fim-pad-token <pad>: the tokenizer has no such token: name one that it has");
  }
}

}  // namespace megalith
