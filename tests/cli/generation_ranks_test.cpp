// Tests of generate on several ranks: the text is that of one rank, and is printed once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

constexpr const char* kTensor = "--tensor-model-parallel-size 2";
constexpr const char* kPipeline = "--pipeline-model-parallel-size 2";
constexpr const char* kExperts =
    "--tensor-model-parallel-size 2 --expert-model-parallel-size 2 --expert-tensor-parallel-size 1";

class SharedGeneration : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  }
  // A prompt of 74 tokens goes through programs of 64, 8 and 1 tokens.
  static std::vector<std::string> line(const std::string& model, const std::string& more, i64 tokens = 74) {
    std::vector<i64> prompt(static_cast<size_t>(tokens));
    for (i64 i = 0; i < tokens; ++i) prompt[size_t(i)] = 1 + (7 * i + i * i / 5) % 31;
    std::vector<std::string> words = words_of(
        "generate --device cpu --tokens-to-generate 16 --tokenizer-type "
        "NullTokenizer --load " +
        golden(model) + " " + more);
    words.insert(words.end(), {"--prompt", fmt::format("{}", fmt::join(prompt, " "))});
    return words;
  }
  static Ran run(const std::vector<std::string>& words, int ranks = 1) {
    return run_program("megalith", words, {.ranks = ranks});
  }
  static void expect_same(const std::string& model, const std::vector<std::string>& layouts, i64 tokens = 74) {
    for (const char* sampling : {" --greedy", " --seed 7 --top-p 0.95"}) {
      const Ran alone = run(line(model, sampling, tokens));
      ASSERT_TRUE(alone.ok()) << model << alone.err;
      ASSERT_GT(alone.out.size(), 1u);
      for (const std::string& layout : layouts) {
        const Ran ran = run(line(model, layout + sampling, tokens), 2);
        EXPECT_TRUE(ran.ok()) << model << " " << layout << ran.err;
        EXPECT_EQ(ran.out, alone.out) << model << " " << layout << sampling;
      }
    }
  }
};

TEST_F(SharedGeneration, TokensAreThoseOfOneRank) {
  for (const char* model : {"llama", "gemma", "deepseek_v3_dense"}) expect_same(model, {kTensor, kPipeline});
}

// deepseek_v3 has a layer without experts, groups of experts and a shared expert.
TEST_F(SharedGeneration, TokensOfMixturesAreThoseOfOneRank) {
  expect_same("mixtral", {kTensor, kPipeline, kExperts});
  expect_same("deepseek_v3", {kTensor, kExperts});
}

TEST_F(SharedGeneration, AnswersAreThoseOfOneRank) { expect_same("t5_v11", {kTensor}, 20); }

TEST_F(SharedGeneration, LaunchedRanksPrintOnce) {
  const std::string alone = run(line("llama", "--greedy")).out;
  std::vector<std::string> words = {"launch", "--standalone", "--nproc-per-node", "4", "--"};
  const std::vector<std::string> command = line("llama", std::string("--greedy ") + kTensor + " " + kPipeline);
  words.insert(words.end(), command.begin(), command.end());
  const Ran ran = run(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, alone);
}

// One line, although all ranks find the mistake.
TEST_F(SharedGeneration, RefusesInOneLine) {
  const auto refused = [](const std::string& model, const std::string& more, const std::string& part) {
    const Ran ran = run(line(model, more), 2);
    EXPECT_FALSE(ran.ok()) << more;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("megalith: "), ran.err.rfind("megalith: ")) << ran.err;
  };
  refused("llama", "", "2 ranks cannot share a generation of tensor 1 x pipeline 1 = 1");
  refused("mixtral", std::string(kPipeline) + " --expert-model-parallel-size 2", "expert");
  refused("t5_v11", kPipeline, "a T5 answers without a pipeline");
  refused("gpt2", kTensor, "90 tokens of prompt and answer, but the model has 32 positions");
  refused("bert", kTensor, "a BERT fills masks on one rank");
}

TEST_F(SharedGeneration, OneRankIgnoresTheLayout) {
  const Ran ran = run(line("llama", "--greedy --tensor-model-parallel-size 8"));
  EXPECT_EQ(ran.out, run(line("llama", "--greedy")).out);
  EXPECT_NE(ran.err.find("have no effect"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace megalith::test
