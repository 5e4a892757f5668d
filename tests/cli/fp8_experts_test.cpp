// Tests of training experts in fp8: their products read codes, and layouts of experts have the losses of one rank.
#include <fmt/format.h>

#include <filesystem>
#include <regex>

#include "workshop.h"

namespace megalith::test {
namespace {

constexpr const char* kRecipes[] = {"--fp8-format hybrid --fp8-recipe tensorwise",
                                    "--fp8-format hybrid --fp8-amax-history-len 4 --fp8-amax-compute-algo max"};

class Fp8Experts : public Workshop {
 protected:
  std::string line(const std::string& dir, const std::string& more) {
    return pretrain(fmt::format(
        "--device cpu --save-interval 100 --save {0} --load {0} --metrics-file {0}.jsonl --lr-decay-iters 10 "
        "--global-batch-size 4 --log-interval 1 --seed 5 --num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 48 "
        "--swiglu --disable-bias-linear --eval-iters 0 {1}",
        *this / dir, more));
  }
  double loss_of(const std::string& dir, int iteration) {
    return std::stod(digits(*this / (dir + ".jsonl")).at(fmt::format("{} lm_loss", iteration)));
  }
};

}  // namespace

TEST_F(Fp8Experts, ReadCodesInAllTheirProducts) {
  for (const std::string recipe : kRecipes) {
    const Ran ran = must(line("plan", recipe + " --bf16 --train-iters 2 --dry-run"));
    EXPECT_NE(ran.out.find("36 products of 12 linear layers read codes"), std::string::npos) << ran.out;
  }
}

// At Mixtral's sizes fp8 is faster, by the facts of an H100.
TEST_F(Fp8Experts, ArePredictedFasterThanBf16) {
  const auto seconds = [&](const std::string& recipe) {
    const Ran ran = must(
        "pretrain-gpt --device h100 --world-size 1 --dry-run --mock-data --bf16 --num-layers 2 --hidden-size 4096 "
        "--num-attention-heads 32 --ffn-hidden-size 14336 --seq-length 4096 --vocab-size 32000 --swiglu "
        "--disable-bias-linear --num-experts 8 --moe-router-topk 2 --micro-batch-size 4 --global-batch-size 4 "
        "--train-iters 1 --lr 1e-4 " +
        recipe);
    std::smatch found;
    const std::string text = ran.out + ran.err;
    EXPECT_TRUE(std::regex_search(text, found, std::regex("predicted: (\\S+) s a step"))) << text;
    return found.empty() ? 0 : std::stod(found[1]);
  };
  EXPECT_LT(seconds(kRecipes[0]), 0.95 * seconds(""));
}

TEST_F(Fp8Experts, LearnAsInBf16) {
  must(line("wide", "--bf16 --train-iters 20"));
  const double first = loss_of("wide", 1), last = loss_of("wide", 20);
  for (const std::string recipe : kRecipes) {
    must(line("narrow", recipe + " --bf16 --train-iters 20"));
    EXPECT_NE(loss_of("narrow", 20), last);
    EXPECT_NEAR(loss_of("narrow", 20), last, 0.05 * (first - last)) << recipe;
    for (const char* made : {"narrow", "narrow.jsonl"}) std::filesystem::remove_all(*this / made);
  }
}

TEST_F(Fp8Experts, ResumeToTheSameBits) {
  const std::string flags = std::string(kRecipes[1]) + " --bf16";
  must(line("whole", flags + " --train-iters 6"));
  must(line("cut", flags + " --train-iters 3")), must(line("cut", flags + " --train-iters 6"));
  const Ran diff = megalith("inspect --diff " + *this / "whole/iter_0000006" + " " + *this / "cut/iter_0000006");
  EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
}

// In f32 only codes round, so the first loss of each layout is that of one rank. Ranks that share experts share the
// scale of their rows, so tensorwise codes differ from those of one rank there. Later a weight that is rounded
// differently may have another code.
TEST_F(Fp8Experts, TrainOnRanksAsOnOne) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const std::string shared = "--expert-model-parallel-size 2";
  for (const std::string recipe : kRecipes) {
    must(line("one", recipe + " --train-iters 3"));
    for (const std::string& more :
         {shared,
          shared + " --tensor-model-parallel-size 2 --sequence-parallel "
                   "--expert-tensor-parallel-size 1",
          std::string("--use-distributed-optimizer"), std::string("--context-parallel-size 2")}) {
      const Ran ran = megalith(line("two", recipe + " --train-iters 3 " + more), {.ranks = 2});
      ASSERT_TRUE(ran.ok()) << more << ran.err;
      EXPECT_NEAR(loss_of("two", 1), loss_of("one", 1), more == shared ? 1e-4 : 2e-6) << recipe << " " << more;
      for (int i = 2; i <= 3; ++i)
        EXPECT_NEAR(loss_of("two", i), loss_of("one", i), 3e-3) << recipe << " " << more << i;
      for (const char* made : {"two", "two.jsonl"}) std::filesystem::remove_all(*this / made);
    }
    for (const char* made : {"one", "one.jsonl"}) std::filesystem::remove_all(*this / made);
  }
}

// A rank that computes its tokens in parts casts the rows of each part. The kept scales are those of all rows.
TEST_F(Fp8Experts, PartsOfTokensHaveTheSameLosses) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const std::string flags = std::string(kRecipes[1]) + " --train-iters 4 --expert-model-parallel-size 2";
  for (const std::string more : {"", " --moe-expert-rank-capacity-factor 1.0"}) {
    const Ran ran = megalith(line(more.empty() ? "whole" : "parts", flags + more), {.ranks = 2});
    ASSERT_TRUE(ran.ok()) << ran.err;
  }
  for (int i = 1; i <= 4; ++i) EXPECT_NEAR(loss_of("parts", i), loss_of("whole", i), 3e-3) << i;
}

TEST_F(Fp8Experts, RefuseBlocks) {
  for (const std::string recipe : {"--fp8-format e4m3 --fp8-recipe blockwise", "--fp8-format e4m3 --fp8-recipe mxfp8"})
    expect_refused(line("x", recipe + " --bf16 --train-iters 1"),
                   "is not built for --num-experts 4: give --fp8-recipe");
  expect_refused(line("x", "--fp4-format e2m1 --bf16 --train-iters 1"),
                 "--fp4-recipe nvfp4 is not built for --num-experts");
}

}  // namespace megalith::test
