// Tests of the first lines of a run, and of the file with its arguments.
#include "observe/run_head.h"

#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "files.h"
#include "options_helpers.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith {
namespace {

const std::string kLlama =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --group-query-attention --num-query-groups 2 "
    "--ffn-hidden-size 96 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --seq-length 32 --micro-batch-size 2 --lr 3e-4 --min-lr 3e-5 "
    "--lr-decay-style cosine --vocab-size 1000 --attention-dropout 0 --hidden-dropout 0 ";
// A layer has q and its output `64 x 64`, k and v `32 x 64`, three matrices of `96 x 64`, and two norms. The model has
// two tables and a norm.
constexpr i64 kLlamaParameters = 4 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 2 * 64) + 2 * 1000 * 64 + 64;

RunFacts facts() {
  return {.device = "NVIDIA H100",
          .needed_bytes = i64{21345} << 20,
          .available_bytes = i64{81000} << 20,
          .iteration = 0,
          .train_iters = 1000,
          .from = "",
          .arguments = ""};
}

bool has_line(const std::string& head, const std::string& line) {
  return ("\n" + head + "\n").find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST(RunHead, CountsTheWholeModel) {
  const Options one = options_of(kLlama + "--mock-data --train-iters 10");
  EXPECT_EQ(size_of(*step_spec(one).model).parameters(), kLlamaParameters);
  const Options many = options_of(kLlama +
                                  "--mock-data --train-iters 10 --world-size 8 --pipeline-model-parallel-size 4 "
                                  "--tensor-model-parallel-size 2 --dry-run");
  EXPECT_EQ(size_of(*step_spec(many).model).parameters(), kLlamaParameters) << "whatever is padded or cut";
}

TEST(RunHead, SaysWhatMattersInTenLines) {
  const Options o = options_of(
      kLlama +
      "--world-size 16 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel --bf16 "
      "--use-distributed-optimizer --global-batch-size 64 --train-iters 1000 --save-interval 100 --save /ckpt "
      "--data-path 0.3 /data/a 0.7 /data/b --dry-run");
  RunFacts f = facts();
  f.iteration = 500, f.from = "/ckpt/iter_0000500", f.arguments = "/ckpt/arguments_0000500.txt";
  const std::string head = run_head(o, f);
  const char* lines[] = {
      "model       251,456 parameters: 4 layers, hidden 64, 4 heads in 2 groups, ffn 96 (swiglu), RMSNorm, rope "
      "positions, vocabulary 1,000",
      "layout      16 ranks (tensor 2 x pipeline 2 x data 4) on NVIDIA H100; computes in bf16, sequence parallel, "
      "distributed optimizer",
      "precision   bf16: activations, products, residual stream, weights; f32: main weights, gradients, sums over "
      "ranks, optimizer state",
      "memory      the fullest rank needs 21,345 MiB, 81,000 MiB are available: it fits",
      "data        /data/a and 1 more",
      "batch       64 sequences x 32 = 2,048 tokens a step: micro-batches of 2, 8 a rank",
      "run         iterations 501 to 1,000, 1.02 million tokens, from /ckpt/iter_0000500",
      "optimizer   adam, learning rate 0.0003, cosine to 3e-05; weight decay 0.01, gradients clipped at 1",
      "save        /ckpt, every 100 iterations and at the end",
      "arguments   all of them: /ckpt/arguments_0000500.txt"};
  for (const char* line : lines) EXPECT_TRUE(has_line(head, line)) << line << "\n is not in\n" << head;
  EXPECT_NE(head.find("\ndiffers     from Megatron: "), std::string::npos) << head;
  for (std::size_t at = 0, end; at < head.size(); at = end + 1) {
    end = std::min(head.find('\n', at), head.size());
    EXPECT_LE(end - at, 141u) << head;
    EXPECT_NE(head[end - 1], ' ') << head;
  }
}

TEST(RunHead, SaysOfASmallRunThatNothingIsKept) {
  RunFacts f = facts();
  f.available_bytes = f.needed_bytes - 1;
  const std::string head = run_head(options_of(std::string(kSmallRun) + "--vocab-size 64"), f);
  EXPECT_NE(head.find("LayerNorm, learned positions, vocabulary 64\n"), std::string::npos) << head;
  EXPECT_NE(head.find("layout      1 rank on NVIDIA H100; computes in f32\n"), std::string::npos) << head;
  EXPECT_NE(head.find("it needs 21,345 MiB, 21,345 MiB are available: it does NOT fit"), std::string::npos) << head;
  EXPECT_NE(head.find("\ndata        mock data\n"), std::string::npos) << head;
  EXPECT_NE(head.find("from random weights\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\nsave        nowhere: nothing is kept without --save\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\narguments   all of them: --log-level debug\n"), std::string::npos) << head;
  EXPECT_NE(head.find("hidden-dropout is 0 unless given"), std::string::npos) << head;
  f.iteration = f.train_iters, f.from = "/ckpt/iter_0001000";
  EXPECT_NE(run_head(options_of(std::string(kSmallRun) + "--vocab-size 64"), f)
                .find("run         nothing is left: 1,000 iterations are done, from /ckpt/iter_0001000\n"),
            std::string::npos);
}

// A CPU has two methods for bf16 products, with different speeds.
TEST(RunHead, SaysHowProductsOfBf16AreMade) {
  RunFacts f = facts();
  f.device = "CPU", f.bf16_products = make_cpu_backend()->bf16_products();
  EXPECT_TRUE(f.bf16_products.starts_with("products by ") || f.bf16_products.starts_with("products in f32"));
  const std::string flags = std::string(kSmallRun) + "--vocab-size 64 ";
  EXPECT_NE(run_head(options_of(flags + "--bf16"), f).find("computes in bf16 (" + f.bf16_products + ")\n"),
            std::string::npos);
  EXPECT_NE(run_head(options_of(flags), f).find("layout      1 rank on CPU; computes in f32\n"), std::string::npos);
}

// If a run resumes with the same arguments, there is one file. A file with other arguments is never overwritten.
TEST(RunHead, ArgumentsHaveAFileOfTheirOwn) {
  const TempFolder folder("arguments");
  const std::string save = "--save-interval 1 --save " + folder.path.string() + " ";
  const Options first = options_of(kSmallRun + save), second = options_of(kSmallRun + save + "--seed 7");
  EXPECT_EQ(write_arguments(options_of(kSmallRun), 0), "");
  const std::string stem = folder.path.string() + "/arguments_0000020";
  EXPECT_EQ(write_arguments(first, 20), stem + ".txt");
  EXPECT_EQ(write_arguments(first, 20), stem + ".txt");
  EXPECT_EQ(write_arguments(second, 20), stem + "_2.txt");
  EXPECT_EQ(write_arguments(second, 20), stem + "_2.txt");
  EXPECT_EQ(write_arguments(first, 20), stem + ".txt");
  EXPECT_EQ(read_file(stem + ".txt"), arguments_text(first) + "\n");
  EXPECT_EQ(read_file(stem + "_2.txt"), arguments_text(second) + "\n");
}

TEST(RunHead, ArgumentsThatCannotBeWrittenAreAWarning) {
  const TempFolder folder("arguments_nowhere");
  EXPECT_EQ(
      write_arguments(
          options_of(std::string(kSmallRun) + "--save-interval 1 --save " + folder.path.string() + "/no/where"), 0),
      "");
}

TEST(RunHead, LogLevelsHaveMegatronsNumbers) {
  const auto level = [](const std::string& flags) { return options_of(kSmallRun + flags).train.log_level; };
  EXPECT_EQ(level(""), LogLevel::info);
  EXPECT_EQ(level("--log-level debug"), LogLevel::debug);
  EXPECT_EQ(level("--logging-level 10"), LogLevel::debug);
  EXPECT_EQ(level("--logging-level 20"), LogLevel::info);
  EXPECT_EQ(level("--logging-level 30"), LogLevel::warning);
  EXPECT_EQ(level("--logging-level 40"), LogLevel::error);
  EXPECT_NE(refusal_of(std::string(kSmallRun) + "--log-level loud"), "");
}

}  // namespace megalith
