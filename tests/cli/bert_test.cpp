// Tests of pretrain-bert: training, resuming, losses on several ranks, filling of masks, file formats.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class BertRuns : public Workshop {
 protected:
  static std::string line(const std::string& more) {
    return "pretrain-bert --device cpu --mock-data --num-layers 2 --hidden-size 32 --num-attention-heads 4 "
           "--seq-length 32 "
           "--vocab-size 100 --micro-batch-size 2 --global-batch-size 4 --lr 1e-3 --log-interval 1 --no-progress "
           "--eval-iters 2 --eval-interval 100 " +
           more;
  }
  // The vocabulary has words. Each document of the corpus is lines of short sentences with these words.
  std::string vocabulary() {
    const char* words[] = {"red",    "green", "blue", "fox", "dog", "cat", "runs",
                           "sleeps", "eats",  "a",    "the", ".",   "##s"};
    std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (const char* word : words) text += std::string(word) + "\n";
    spit(*this / "vocab.txt", text);
    return *this / "vocab.txt";
  }
  std::string corpus() {
    const char *colors[] = {"red", "green", "blue"}, *animals[] = {"fox", "dogs", "cat"};
    const char* acts[] = {"runs", "sleeps", "eats"};
    std::string lines;
    for (int d = 0; d < 60; ++d) {
      std::string text;
      for (int s = 0; s < 4; ++s)  // the color determines the action
        text += fmt::format("The {} {} {}. ", colors[(d + s) % 3], animals[(d / 3 + s) % 3], acts[(d + s) % 3]);
      lines += "{\"text\": \"" + text + "\"}\n";
    }
    spit(*this / "corpus.jsonl", lines);
    must("preprocess-data --input " + *this / "corpus.jsonl" + " --output-prefix " + *this / "data" +
         " --tokenizer-type BertWordPieceLowerCase --vocab-file " + vocabulary() + " --split-sentences");
    return *this / "data_text_sentence";
  }
};

TEST_F(BertRuns, LearnsBothLosses) {
  const Ran ran = must(line(
      "--train-iters 1500 --lr 3e-3 --micro-batch-size 16 --global-batch-size 16 --metrics-file " + *this / "m.jsonl"));
  const auto numbers = digits(*this / "m.jsonl");
  const auto at_end = [&](const std::string& loss) {  // the mean, as a batch's loss varies
    double sum = 0;
    for (int i = 1401; i <= 1500; ++i) sum += std::stod(numbers.at(fmt::format("{} {}", i, loss)));
    return sum / 100;
  };
  EXPECT_LT(at_end("lm_loss"), 0.7 * std::stod(numbers.at("1 lm_loss")));
  EXPECT_LT(at_end("sop_loss"), 0.6 * std::stod(numbers.at("1 sop_loss")));
  EXPECT_NE(ran.out.find("> finished creating BERT datasets"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("sop loss value: "), std::string::npos) << "validation tells it too\n" << ran.out;
}

TEST_F(BertRuns, GoesOnFromACheckpointWithTheSameDigits) {
  must(line("--train-iters 8 --hidden-dropout 0.1 --attention-dropout 0.1 --metrics-file " + *this / "whole.jsonl"));
  const std::string half =
      line("--train-iters 8 --hidden-dropout 0.1 --attention-dropout 0.1 --save " + *this / "ck" + " --load " +
           *this / "ck" + " --save-interval 4 --metrics-file " + *this / "half.jsonl");
  must(half + " --exit-interval 4");
  must(half);
  const auto whole = digits(*this / "whole.jsonl"), parts = digits(*this / "half.jsonl");
  for (int i = 1; i <= 8; ++i)
    for (const char* key : {"lm_loss", "sop_loss", "grad_norm"}) {
      const std::string at = fmt::format("{} {}", i, key);
      EXPECT_EQ(whole.at(at), parts.at(at)) << at;
    }
}

TEST_F(BertRuns, AnotherMicroBatchSizeGivesTheSameLosses) {
  must(line("--train-iters 3 --metrics-file " + *this / "two.jsonl"));
  must(line("--train-iters 3 --micro-batch-size 4 --metrics-file " + *this / "four.jsonl"));
  const auto two = digits(*this / "two.jsonl"), four = digits(*this / "four.jsonl");
  for (const char* key : {"3 lm_loss", "3 sop_loss", "3 grad_norm"})
    EXPECT_NEAR(std::stod(two.at(key)), std::stod(four.at(key)), 2e-6 * std::stod(four.at(key))) << key;
}

TEST_F(BertRuns, ReadsWordsAndFillsMasks) {
  const std::string data = corpus(), words = " --tokenizer-type BertWordPieceLowerCase --vocab-file " + vocabulary();
  const std::string run = "pretrain-bert --device cpu --data-path " + data + words +
                          " --num-layers 2 --hidden-size 32 --num-attention-heads 4 --seq-length 40 "
                          "--micro-batch-size 8 --lr 3e-3 --no-progress --split 100,0,0 --eval-iters 0 "
                          "--train-iters 150 --save-interval 150 --save " +
                          *this / "ck";
  must(run);
  const auto fill = [&](const std::string& prompt, const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"generate",
                                     "--device",
                                     "cpu",
                                     "--load",
                                     *this / "ck",
                                     "--tokenizer-type",
                                     "BertWordPieceLowerCase",
                                     "--vocab-file",
                                     *this / "vocab.txt",
                                     "--prompt",
                                     prompt};
    line.insert(line.end(), more.begin(), more.end());
    return run_program("megalith", line);
  };
  const Ran filled = fill("the green fox [MASK] . the blue cat eats .");
  EXPECT_EQ(filled.exit_code, 0) << filled.err;
  EXPECT_NE(filled.out.find("[MASK] 1: "), std::string::npos) << filled.out;
  EXPECT_EQ(filled.out.find("the green fox "), 0u) << filled.out;
  const Ran judged = must("evaluate --device cpu --load " + *this / "ck" + words + " --data-path " + data +
                          " --split 0,100,0 --eval-iters 2 --micro-batch-size 4 --global-batch-size 4");
  EXPECT_NE(judged.out.find("| sop loss "), std::string::npos) << judged.out;
  expect_refused(fill("no mask"), "--prompt has no [MASK]");
  const Ran listed = fill("[MASK] fox [MASK] .", {"--top-k", "100"});  // lists all tokens
  EXPECT_EQ(std::ranges::count(listed.out, ','), 2 * 17) << listed.out;
  // The model has more ids than its tokenizer has tokens. Only real tokens are printed.
  const Ran fewer = fill("a [MASK]", {"--top-k", "100", "--load", golden("bert")});
  EXPECT_EQ(fewer.exit_code, 0) << fewer.err;
  EXPECT_EQ(std::ranges::count(fewer.out, ','), 17) << fewer.out;
  expect_refused(fill("a [MASK]", {"--greedy"}), "BERT fills masks with the most likely tokens: leave out --greedy");
  expect_refused(fill("a [MASK]", {"--tokens-to-generate", "3"}), "leave out --greedy");
}

TEST_F(BertRuns, GoesToOtherFormatsAndBack) {
  must(line("--train-iters 2 --gelu --save-interval 2 --save " + *this / "ck"));
  for (const char* format : {"torch_dist", "hf"}) {
    const std::string there = *this / format, back = there + "-back";
    must("convert --load " + *this / "ck" + " --to " + format + " --save " + there);
    must("convert --load " + there + " --to native --save " + back);
    // Hugging Face files have no optimizer state.
    const Ran ran = megalith("inspect --diff " + *this / "ck" + " " + back);
    // inspect --diff does not list equal tensors.
    EXPECT_EQ(("\n" + ran.out).find("\nencoder.layers.0.mlp.linear_fc1.weight"), std::string::npos) << ran.out;
    must("evaluate --device cpu --mock-data --load " + back + " --eval-iters 1 --micro-batch-size 4");
  }
}

// If a Hugging Face directory has only a vocab.txt, that file determines the tokenizer.
TEST_F(BertRuns, FillsMasksOfAnExport) {
  for (const char* type : {"BertWordPieceLowerCase", "BertWordPieceCase"}) {
    const std::string run = *this / type, words = fmt::format(" --tokenizer-type {} --vocab-file ", type);
    must(line("--train-iters 2 --gelu --save-interval 2 --save " + run + words + vocabulary() + " --vocab-size 0"));
    must("convert --load " + run + " --to hf --save " + run + "-hf");
    const auto fill = [&](const std::string& model) {
      return run_program("megalith", {"generate", "--device", "cpu", "--load", model, "--prompt", "The [MASK] fox ."});
    };
    EXPECT_EQ(fill(run + "-hf").exit_code, 0) << fill(run + "-hf").err;
    EXPECT_EQ(fill(run + "-hf").out, fill(run).out);
  }
}

TEST_F(BertRuns, RefusesWhatIsNotBuilt) {
  const auto refused = [&](const std::string& more, const std::string& part) {
    expect_refused(line("--train-iters 1 " + more), part);
  };
  refused("--num-experts 4 --moe-router-topk 2", "--num-experts is not built for BERT");
  refused("--position-embedding-type alibi", "BERT has learned_absolute or rope");
  refused("--mask-prob 1.5", "--mask-prob 1.5 is out of range");
  refused("--seq-length 4", "--seq-length 4: a sample of two segments takes 5 tokens or more");
  refused("--sft", "--sft is not built for BERT");
  must(line("--train-iters 1 --save-interval 1 --save " + *this / "ck"));
  expect_refused(
      "pretrain-gpt --device cpu --mock-data --micro-batch-size 1 --train-iters 2 --lr 1 --load " + *this / "ck",
      "holds a BERT, and this command trains a GPT");
  const auto to_hf = [&](const std::string& model) {
    return megalith("convert --to hf --load " + *this / model + " --save " + *this / "hf");
  };
  expect_refused(to_hf("ck"), "can express this model: as bert the model would have activation = gelu, not gelu_tanh");
  must(line("--train-iters 1 --gelu --bert-no-binary-head --save-interval 1 --save " + *this / "untyped"));
  expect_refused(to_hf("untyped"), "this model has none: train with --bert-token-types 1");
}

}  // namespace
}  // namespace megalith::test
