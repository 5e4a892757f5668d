// Tests of pretrain-t5: training, resuming, losses under several layouts, refused flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class T5Runs : public Workshop {
 protected:
  // Documents of four short sentences each.
  std::string corpus(const std::string& tokenizer) {
    const char *colors[] = {"red", "green", "blue"}, *animals[] = {"fox", "dogs", "cat"};
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", lines;
    for (const char* w : {"red", "green", "blue", "fox", "dog", "cat", "runs", "the", ".", "##s"})
      words += std::string(w) + "\n";
    spit(*this / "vocab.txt", words);
    for (int d = 0; d < 60; ++d) {
      std::string text;
      for (int s = 0; s < 4; ++s) text += fmt::format("The {} {} runs. ", colors[(d + s) % 3], animals[d / 3 % 3]);
      lines += "{\"text\": \"" + text + "\"}\n";
    }
    spit(*this / "corpus.jsonl", lines);
    must("preprocess-data --input " + *this / "corpus.jsonl" + " --output-prefix " + *this / "data" +
         " --split-sentences " + tokenizer);
    return *this / "data_text_sentence";
  }

  static Ran answer(const std::string& model, const std::string& prompt) {
    const Ran ran = run_program("megalith", {"generate", "--device", "cpu", "--greedy", "--tokens-to-generate", "12",
                                             "--load", model, "--prompt", prompt});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran;
  }

  static std::string line(const std::string& more) {
    return "pretrain-t5 --device cpu --mock-data --encoder-num-layers 2 --decoder-num-layers 1 --hidden-size 32 "
           "--num-attention-heads 4 --encoder-seq-length 32 --decoder-seq-length 24 --position-embedding-type relative "
           "--vocab-size 128 --micro-batch-size 2 --global-batch-size 4 --lr 1e-3 --log-interval 1 --no-progress "
           "--eval-iters 2 --eval-interval 100 " +
           more;
  }
};

// The words of a document are consecutive numbers, so the other words determine the masked ones.
TEST_F(T5Runs, Learns) {
  const Ran ran = must(line("--train-iters 300 --lr 3e-3 --micro-batch-size 8 --global-batch-size 8 --metrics-file " +
                            *this / "m.jsonl"));
  const auto numbers = digits(*this / "m.jsonl");
  EXPECT_LT(std::stod(numbers.at("300 lm_loss")), 0.8 * std::stod(numbers.at("1 lm_loss")));
  EXPECT_NE(ran.out.find("> finished creating T5 datasets"), std::string::npos) << ran.out;
}

TEST_F(T5Runs, GoesOnFromACheckpointWithTheSameDigits) {
  for (const char* format : {"native", "torch_dist"}) {
    const std::string drop = "--train-iters 6 --hidden-dropout 0.1 --attention-dropout 0.1 ";
    const std::string dir = *this / format;
    must(line(drop + "--metrics-file " + dir + "-whole.jsonl"));
    const std::string half = line(drop + "--ckpt-format " + format + " --save " + dir + " --load " + dir +
                                  " --save-interval 3 --metrics-file " + dir + "-half.jsonl");
    must(half + " --exit-interval 3");
    must(half);
    const auto whole = digits(dir + "-whole.jsonl"), parts = digits(dir + "-half.jsonl");
    for (int i = 1; i <= 6; ++i)
      for (const char* key : {"lm_loss", "grad_norm"}) {
        const std::string at = fmt::format("{} {}", i, key);
        EXPECT_EQ(whole.at(at), parts.at(at)) << format << " " << at;
      }
  }
}

TEST_F(T5Runs, AnotherMicroBatchSizeGivesTheSameLosses) {
  must(line("--train-iters 3 --metrics-file " + *this / "two.jsonl"));
  must(line("--train-iters 3 --micro-batch-size 4 --metrics-file " + *this / "four.jsonl"));
  const auto two = digits(*this / "two.jsonl"), four = digits(*this / "four.jsonl");
  for (const char* key : {"3 lm_loss", "3 grad_norm"})
    EXPECT_NEAR(std::stod(two.at(key)), std::stod(four.at(key)), 2e-6 * std::stod(four.at(key))) << key;
}

TEST_F(T5Runs, TellsWhatIsNotBuilt) {
  const auto refused = [&](const std::string& more, const std::string& message) {
    expect_refused(line("--train-iters 1 " + more), message);
  };
  refused("--num-experts 4", "--num-experts is not built for a T5");
}

// The flags of Megatron's T5 script: a BERT vocabulary, followed by sentinels.
TEST_F(T5Runs, TrainsOnABertVocabularyWithSentinels) {
  const std::string tokenizer = "--tokenizer-type BertWordPieceLowerCase --vocab-file " + *this / "vocab.txt";
  const std::string data = corpus(tokenizer);
  const std::string run =
      "pretrain-t5 --device cpu --encoder-num-layers 1 --hidden-size 32 --num-attention-heads 4 --encoder-seq-length "
      "24 "
      "--decoder-seq-length 24 --max-position-embeddings 24 --micro-batch-size 4 --global-batch-size 4 --lr 1e-2 "
      "--train-iters 120 --log-interval 1 --no-progress --eval-iters 0 --split 100,0,0 --data-path " +
      data + " " + tokenizer;
  expect_refused(run, "the tokenizer has no sentinels <extra_id_0>, <extra_id_1>, ..: give --vocab-extra-ids 100");
  const std::string sentinels = " --vocab-extra-ids 10 --data-cache-path " + *this / "cache";
  must(run + sentinels + " --save-interval 120 --save " + *this / "ck" + " --metrics-file " + *this / "m.jsonl");
  const auto first = digits(*this / "m.jsonl");
  EXPECT_LT(std::stod(first.at("120 lm_loss")), 0.6 * std::stod(first.at("1 lm_loss")));

  std::filesystem::path map;
  for (const auto& file : std::filesystem::directory_iterator(*this / "cache"))
    if (file.path().extension() == ".npy") map = file.path();
  ASSERT_FALSE(map.empty()) << "the map of sentences is kept";
  const std::string bytes = slurp(map.string());
  const auto made = std::filesystem::last_write_time(map);
  must(run + sentinels + " --metrics-file " + *this / "again.jsonl");
  EXPECT_EQ(std::filesystem::last_write_time(map), made) << "the second run reads it";
  EXPECT_EQ(digits(*this / "again.jsonl").at("120 lm_loss"), first.at("120 lm_loss"));
  std::string broken = bytes;
  std::fill(broken.end() - 24, broken.end(), char(0x7f));  // indices of sentences that do not exist
  spit(map.string(), broken);
  must(run + sentinels + " --metrics-file " + *this / "mended.jsonl");
  EXPECT_EQ(slurp(map.string()), bytes);
  EXPECT_EQ(digits(*this / "mended.jsonl").at("120 lm_loss"), first.at("120 lm_loss"));

  const Ran ran = answer(*this / "ck", "<extra_id_0> red fox runs . the green fox runs .");
  EXPECT_TRUE(ran.out.starts_with("<extra_id_0>")) << ran.out;  // the first token of every answer
  expect_refused("generate --device cpu --prompt fox --load " + *this / "ck",
                 "--tokens-to-generate is 64, but the model has 24 positions: give 24 or less");
  // A model with more ids than its tokenizer has tokens still answers with text.
  must("generate --device cpu --greedy --prompt fox --load " + golden("t5_v11") + " " + tokenizer +
       " --vocab-extra-ids 10");
}

TEST_F(T5Runs, ADryRunMakesNoSamples) {
  const Ran ran = must(line("--train-iters 100000000 --dry-run"));
  EXPECT_EQ(ran.out.find("> finished creating T5 datasets"), std::string::npos) << ran.out;
}

// The files of a Hugging Face model define the first and the last token of answers.
TEST_F(T5Runs, AnswersAsTransformersDoes) {
  for (const std::string name : kGoldenT5) {
    const auto cases = nlohmann::json::parse(slurp(golden(name) + "/greedy.json"));
    ASSERT_EQ(cases.size(), 4u);
    for (const auto& c : cases) {
      const auto text = c.at("text").get<std::vector<i32>>();
      auto want = c.at("answer").get<std::vector<i32>>();
      if (!want.empty() && want.back() == 1) want.pop_back();  // the end of text is not printed
      const Ran ran = answer(golden(name), fmt::format("{}", fmt::join(text, " ")));
      EXPECT_EQ(ran.out, fmt::format("{}\n", fmt::join(want, " "))) << name << " " << text.size();
    }
  }
}

}  // namespace
}  // namespace megalith::test
