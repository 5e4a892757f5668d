// Options are completed by what their files say, without a file. Files are read without changing an option.
#include "complete/complete_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/mistakes.h"
#include "tests/error_of.h"

namespace megalith {

namespace {

Options read_words(const std::string& line) {
  std::istringstream in("pretrain-gpt " + line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  Options o = read_options(int(argv.size()), argv.data());
  o.trains = o.model.architecture;
  return o;
}

const char* const kModel = "--num-layers 3 --hidden-size 64 --num-attention-heads 4 --seq-length 32 ";

Sources of_model(const std::string& line) {
  Sources s;
  s.stored = StoredModel{.model = read_words(line).model, .tokenizer = {}};
  return s;
}

TokenizerSource vocabulary(i64 entries, i64 eod, i64 pad, bool pad_is_special) {
  return {.config = {.type = "NullTokenizer"},
          .entries = entries,
          .eod = eod,
          .pad = pad,
          .pad_is_special = pad_is_special};
}

}  // namespace

TEST(CompleteOptions, TakesTheStoredModelUnderTheGivenFlags) {
  Options o = read_words("--seq-length 16 --attention-dropout 0.3");
  complete_model(o, of_model(std::string(kModel) + "--vocab-size 101 --attention-dropout 0.1"));
  EXPECT_EQ(o.model.num_layers, 3);
  EXPECT_EQ(o.model.vocab_size, 101);
  EXPECT_EQ(o.model.seq_length, 16) << "the flag is given";
  EXPECT_EQ(o.model.attention_dropout, 0.3) << "dropout is the run's";
  EXPECT_EQ(o.data.seq_length, 16);
  EXPECT_EQ(o.data.vocab_size, 101);
  EXPECT_TRUE(o.wrong.mistakes.empty());
}

TEST(CompleteOptions, KeepsTheModelThatFlagsDescribe) {
  Options o = read_words(std::string(kModel) + "--vocab-size 77");
  complete_model(o, of_model("--num-layers 9 --hidden-size 128 --num-attention-heads 4 --seq-length 8"));
  EXPECT_EQ(o.model.num_layers, 3);
  EXPECT_EQ(o.model.hidden_size, 64);
  EXPECT_EQ(o.model.vocab_size, 77);
}

TEST(CompleteOptions, TakesTheVocabularyOfTheTokenizer) {
  Options o = read_words(kModel);
  Sources s;
  s.tokenizer = vocabulary(500, 499, 3, false);
  complete_model(o, s);
  EXPECT_EQ(o.model.vocab_size, 500);
  EXPECT_EQ(o.data.vocab_size, 500);
  EXPECT_EQ(o.data.eod, 499);
  EXPECT_EQ(o.data.pad, 3);
  EXPECT_EQ(o.tokenizer.type, "NullTokenizer");
  EXPECT_TRUE(o.notes.empty());
}

TEST(CompleteOptions, RefusesATokenizerWithMoreTokensThanTheModel) {
  Options o = read_words(std::string(kModel) + "--vocab-size 100");
  Sources s;
  s.tokenizer = vocabulary(101, 100, Tokenizer::kNone, false);
  complete_model(o, s);
  ASSERT_EQ(o.wrong.mistakes.size(), 1u);
  EXPECT_NE(o.wrong.mistakes[0].find("the tokenizer has 101 tokens, the model a vocabulary of 100"), std::string::npos);
}

TEST(CompleteOptions, UsesAPaddingThatIsAnotherTokenOnlyWhenAsked) {
  for (const bool asked : {false, true}) {
    Options o = read_words(std::string(kModel) + (asked ? "--allow-ambiguous-pad-tokens" : ""));
    Sources s;
    s.tokenizer = vocabulary(50, 7, 7, true);
    complete_model(o, s);
    EXPECT_EQ(o.data.pad, asked ? 7 : Tokenizer::kNone);
    ASSERT_EQ(o.notes.size(), 1u);
    EXPECT_NE(o.notes[0].find("padding, token 7, is another special token too (its end of text)"), std::string::npos);
  }
}

TEST(CompleteOptions, EndsWhereTheModelRemainsUnknown) {
  Options o = read_words("--lr 1e-3");
  Sources s;
  s.mistakes = {"--load x: it is damaged"}, s.knows_model = false;
  EXPECT_EQ(error_of([&] { complete_model(o, s); }), "--load x: it is damaged");
}

TEST(Sources, AreReadWithoutATokenizerOrALoad) {
  const Options o = read_words(kModel);
  const Sources s = read_sources(o);
  EXPECT_TRUE(s.knows_model);
  EXPECT_FALSE(s.stored);
  EXPECT_FALSE(s.tokenizer.is_read());
  EXPECT_TRUE(s.mistakes.empty());
}

TEST(Sources, OfAMissingTokenizerArePublicInAPlanOnly) {
  const std::string line = std::string(kModel) +
                           "--tokenizer-type GPT2BPETokenizer --vocab-file no/vocab.json "
                           "--merge-file no/merges.txt ";
  const Sources plan = read_sources(read_words(line + "--dry-run"));
  EXPECT_TRUE(plan.mistakes.empty());
  EXPECT_EQ(plan.tokenizer.entries, 50257);
  EXPECT_EQ(plan.tokenizer.absent, "--vocab-file no/vocab.json");
  EXPECT_FALSE(plan.tokenizer.is_read());
  const Sources run = read_sources(read_words(line));
  ASSERT_EQ(run.mistakes.size(), 1u);
  EXPECT_NE(run.mistakes[0].find("no/vocab.json"), std::string::npos);
  EXPECT_EQ(run.tokenizer.config.type, "GPT2BPETokenizer") << "no second mistake about a missing type";
}

TEST(Sources, NameTheModelOfTheDirectory) {
  const std::string dir = ::testing::TempDir() + "sources_llama";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/config.json") << R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 96, "max_position_embeddings": 32, "rms_norm_eps": 1e-5})";
  const Sources s = read_sources(read_words("--tokenizer-type NullTokenizer --load " + dir));
  EXPECT_TRUE(s.mistakes.empty());
  ASSERT_TRUE(s.stored);
  EXPECT_EQ(s.stored->model.num_layers, 2);
  EXPECT_EQ(s.tokenizer.entries, 96) << "a NullTokenizer has the model's vocabulary";
  Options bert = read_words("--load " + dir);
  bert.trains = Architecture::bert;
  const Sources other = read_sources(bert);
  EXPECT_FALSE(other.knows_model);
  ASSERT_EQ(other.mistakes.size(), 1u);
  EXPECT_NE(other.mistakes[0].find("holds a GPT, and this command trains a BERT"), std::string::npos);
  std::filesystem::remove_all(dir);
}

}  // namespace megalith
