// Megatron Core resumes one of our BERT or T5 runs, with the optimizer's state. It continues with the same losses, on
// the samples of its own datasets. We resume its run. The test is skipped if Python cannot import megatron-core.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/ckpt/torch/python.h"
#include "workshop.h"

namespace megalith::test {
namespace {

struct EncoderCase {
  const char *name, *command, *model;
};

// Prints the name in test reports, not pointers and flags.
void PrintTo(const EncoderCase& c, std::ostream* out) { *out << c.name; }

constexpr EncoderCase kEncoders[] = {
    {"bert", "pretrain-bert", "--num-layers 2 --seq-length 40"},
    {"bert_without_head", "pretrain-bert",
     "--num-layers 3 --seq-length 40 --bert-no-binary-head --untie-embeddings-and-output-weights"},
    {"t5", "pretrain-t5", "--encoder-num-layers 2 --decoder-num-layers 3 --encoder-seq-length 40"},
    {"t5_rope", "pretrain-t5",
     "--encoder-num-layers 3 --decoder-num-layers 1 --encoder-seq-length 40 --position-embedding-type rope "
     "--untie-embeddings-and-output-weights"},
    {"t5_relative", "pretrain-t5",
     "--encoder-num-layers 2 --decoder-num-layers 2 --encoder-seq-length 40 --position-embedding-type relative "
     "--relative-attention-num-buckets 8 --relative-attention-max-distance 12"},
};

std::vector<double> lm_losses(const std::string& metrics_path) {
  std::vector<double> out;
  std::istringstream in(slurp(metrics_path));
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line)["lm_loss"].get<double>());
  return out;
}

class MegatronEncoders : public Workshop, public ::testing::WithParamInterface<EncoderCase> {
 protected:
  // Writes a vocabulary of words, and documents of short sentences with these words. The documents vary in length.
  void write_corpus() {
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n##s\n", lines;
    const char* subjects[] = {"fox", "dog", "cat", "bird", "horse"};
    const char* colors[] = {"red", "green", "blue", "old"};
    for (const char* w : subjects) words += std::string(w) + "\n";
    for (const char* w : colors) words += std::string(w) + "\n";
    for (const char* w : {"the", "runs", "sees", "and", "away"}) words += std::string(w) + "\n";
    spit(*this / "vocab.txt", words);
    for (int d = 0; d < 12; ++d) {
      std::string text;
      for (int s = 0; s < 3 + d % 4; ++s)
        text += fmt::format("The {} {} runs{}. ", colors[(d + s) % 4], subjects[(d * s + 1) % 5],
                            (d + s) % 3 == 0 ? " away and sees the dogs" : "");
      lines += "{\"text\": \"" + text + "\"}\n";
    }
    spit(*this / "corpus.jsonl", lines);
    must("preprocess-data --split-sentences --input " + *this / "corpus.jsonl" + " --output-prefix " + *this / "data" +
         " --tokenizer-type BertWordPieceLowerCase --vocab-file " + *this / "vocab.txt");
  }
};

TEST_P(MegatronEncoders, GoesOnWithOurRunsAndWeWithItsRuns) {
  if (!python_has("torch, megatron.core, psutil")) GTEST_SKIP() << python() << " has no megatron-core and psutil";
  const EncoderCase& c = GetParam();
  const bool t5 = std::string(c.command) == "pretrain-t5";
  write_corpus();
  const std::string data = *this / "data_text_sentence";
  const auto run = [&](const std::string& more) {
    must(fmt::format(
        "{} {} {} --tokenizer-type BertWordPieceLowerCase --vocab-file {} --data-path {} --split 1,0,0 "
        "--make-vocab-size-divisible-by 1 --max-position-embeddings 48 --hidden-size 32 "
        "--num-attention-heads 4 --micro-batch-size 4 --global-batch-size 4 --lr 1e-2 --lr-decay-style "
        "constant --lr-decay-iters 100 --weight-decay 0.1 --eval-iters 0 --log-interval 1 --no-progress {}",
        c.command, c.model, t5 ? "--decoder-seq-length 32 --vocab-extra-ids 10" : "", *this / "vocab.txt", data, more));
  };
  // The samples of a run depend on its length, so all runs have nine steps.
  run("--train-iters 9 --exit-interval 3 --save-interval 3 --ckpt-format torch_dist --save " + *this / "ours");
  run("--train-iters 9 --metrics-file " + *this / "whole.jsonl");
  ASSERT_EQ(run_python("megatron_encoders.py",
                       {*this / "ours/iter_0000003", *this / "losses.json", "3", data, "36", *this / "vocab.txt",
                        *this / "theirs"},
                       *this / "log"),
            "");
  run("--train-iters 9 --load " + *this / "theirs" + " --metrics-file " + *this / "resumed.jsonl");

  const std::vector<double> whole = lm_losses(*this / "whole.jsonl"), resumed = lm_losses(*this / "resumed.jsonl");
  const auto theirs = nlohmann::json::parse(slurp(*this / "losses.json"));
  ASSERT_EQ(whole.size(), 9U);
  ASSERT_EQ(resumed.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const double before = theirs["before"][i], after = theirs["after"][i];
    EXPECT_NEAR(before, whole[3 + i], 1e-5 * before) << "step " << i;
    EXPECT_NEAR(after, resumed[i], 1e-5 * after) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, MegatronEncoders, ::testing::ValuesIn(kEncoders), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace megalith::test
