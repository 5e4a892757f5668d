// Kills runs of BERT, T5 and RETRO twice by SIGKILL between two saves, and restarts them. Their losses and last
// checkpoints must equal those of an undisturbed run.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct KilledRun {
  const char *name, *words;
  int ranks = 1;
};
void PrintTo(const KilledRun& run, std::ostream* out) { *out << run.name; }

constexpr const char* kT5 =
    "pretrain-t5 --mock-data --vocab-size 128 --global-batch-size 4 --encoder-num-layers 2 --decoder-num-layers 3 "
    "--encoder-seq-length 32 --decoder-seq-length 24 ";

const KilledRun kKilledRuns[] = {
    {"bert", "pretrain-bert --mock-data --vocab-size 100 --global-batch-size 4 --num-layers 2 --seq-length 32"},
    {"bert_bf16",
     "pretrain-bert --mock-data --vocab-size 100 --global-batch-size 4 --num-layers 2 --seq-length 32 --bf16 "
     "--bert-post-norm --embedding-layernorm --ckpt-format torch_dist"},
    {"t5_learned", ""},
    {"t5_relative_torch_dist", "--position-embedding-type relative --ckpt-format torch_dist"},
    {"t5_stages",
     "--position-embedding-type relative --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout auto", 2},
    {"retro", "pretrain-retro --retro-add-retriever --retro-encoder-hidden-dropout 0.1 --num-layers 6"},
};

class EncoderKills : public Workshop, public ::testing::WithParamInterface<KilledRun> {
 protected:
  // The data of a RETRO run: documents of random tokens, and their neighbours.
  std::string with_neighbors() {
    std::string lines;
    for (int d = 0; d < 12; ++d) {
      lines += "{\"text\": \"";
      for (int i = 0; i < 120; ++i) lines += fmt::format("{} ", (i * i + 7 * d * i + d) % 61);
      lines.back() = '"';
      lines += "}\n";
    }
    spit(*this / "numbers.jsonl", lines);
    must(
        fmt::format("preprocess-data --input {0}.jsonl --output-prefix {0} --tokenizer-type NullTokenizer "
                    "--vocab-size 64 --append-eod",
                    *this / "numbers"));
    const std::string samples = fmt::format(
        " --data-path {} --split 80,20,0 --tokenizer-type NullTokenizer --vocab-size 64 --seq-length 32 "
        "--retro-chunk-length 8 --retro-project-dir {} --global-batch-size 4 {}",
        *this / "numbers_text_document", *this / "project", kLength);
    must("retro build --device cpu" + samples);
    return samples;
  }

  // The command line of a run in this folder, without the flags of a specific model.
  std::string line(const std::string& name) {
    return fmt::format(
        " --device cpu --hidden-size 32 --num-attention-heads 4 --micro-batch-size 2 --lr 1e-3 --hidden-dropout 0.1 "
        "--attention-dropout 0.1 --log-interval 1 --no-progress --save-interval 4 --save {0} --load {0} "
        "--metrics-file {0}.jsonl {1}",
        *this / name, kLength);
  }

  void expect_same_checkpoint() {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(*this / "whole/iter_0000012")) {
      const fs::path file = entry.path();
      if (file.extension() != ".safetensors" && file.extension() != ".distcp") continue;
      EXPECT_TRUE(slurp(file) == slurp(*this / "cut/iter_0000012/" + file.filename().string())) << file;
      ++files;
    }
    EXPECT_GE(files, GetParam().ranks);
  }

  static constexpr const char* kLength = "--train-iters 12 --eval-interval 5 --eval-iters 1";
};

TEST_P(EncoderKills, GoesOnWithTheSameDigits) {
  const KilledRun& run = GetParam();
  if (run.ranks > 1 && !has_mpirun()) GTEST_SKIP() << "mpirun is not there";
  std::string words = std::string(run.name).starts_with("t5") ? std::string(kT5) + run.words : run.words;
  if (run.name == std::string("retro")) words += with_neighbors();
  const auto start = [&](const std::string& more) { return megalith(words + more, {.ranks = run.ranks}); };

  const Ran whole = start(line("whole"));
  ASSERT_TRUE(whole.ok()) << whole.err;
  // The first start is killed in step 7, and the run resumes from step 4. The second start is killed in step 10, and
  // the run resumes from step 8.
  for (const auto& [kill, saved] : {std::pair(7, 4), {10, 8}}) {
    const Ran cut = start(line("cut") + fmt::format(" --inject-allowed --inject kill@{}:{}", run.ranks - 1, kill));
    ASSERT_FALSE(cut.ok()) << cut.out;
    if (run.ranks == 1) ASSERT_EQ(cut.signal, SIGKILL) << cut.err;
    EXPECT_TRUE(fs::exists(*this / fmt::format("cut/iter_{:07}", saved)));
    EXPECT_FALSE(fs::exists(*this / "cut/iter_0000012"));
    EXPECT_TRUE(digits(*this / "cut.jsonl").contains(fmt::format("{} lm_loss", saved))) << "records precede a save";
  }
  const Ran last = start(line("cut"));
  ASSERT_TRUE(last.ok()) << last.err;

  const auto expected = digits(*this / "whole.jsonl");
  EXPECT_TRUE(expected.contains("12 grad_norm")) << slurp(*this / "whole.jsonl");
  EXPECT_EQ(digits(*this / "cut.jsonl"), expected);
  expect_same_checkpoint();
}

INSTANTIATE_TEST_SUITE_P(, EncoderKills, ::testing::ValuesIn(kKilledRuns), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace megalith::test
