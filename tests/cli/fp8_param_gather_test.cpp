// Tests --fp8-param-gather: ranks all-gather weights as fp8 codes. Without the flag each rank casts them. Losses,
// weights and scales must be the same, bit for bit.
#include <fmt/format.h>

#include <cmath>

#include "workshop.h"

namespace megalith::test {
namespace {

constexpr const char* kDelayed = "--fp8-format hybrid --fp8-amax-history-len 4 --fp8-amax-compute-algo max";
constexpr const char* kTensorwise = "--fp8-format e4m3 --fp8-recipe tensorwise";

class Fp8ParamGather : public Workshop {
 protected:
  std::string line(const std::string& dir, const std::string& more) {
    return pretrain(fmt::format(
        "--bf16 --device cpu --save-interval 100 --save {0} --load {0} --metrics-file {0}.jsonl --lr-decay-iters 10 "
        "--global-batch-size 8 --log-interval 1 --eval-interval 2 --seed 5 --use-distributed-optimizer {1}",
        *this / dir, more));
  }
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const Ran diff = megalith("inspect --diff " + *this / a + " " + *this / b);
    EXPECT_EQ(diff.exit_code, 0) << a << " " << b << diff.out << diff.err;
  }
  // Compares the norms with a tolerance. Their squares are summed in f64 by bucket, and the buckets differ.
  void expect_same_losses(const std::string& a, const std::string& b) {
    auto want = digits(*this / (a + ".jsonl")), got = digits(*this / (b + ".jsonl"));
    const auto is_of_weights = [](const auto& v) {  // ranks that gather codes do not count casts of weights
      return v.first.find("fp8_saturated_w") != std::string::npos ||
             v.first.find("fp8_underflow_w") != std::string::npos;
    };
    std::erase_if(want, is_of_weights), std::erase_if(got, is_of_weights);
    EXPECT_EQ(want.size(), got.size());
    int losses = 0;
    for (const auto& [key, value] : want) {
      ASSERT_TRUE(got.contains(key)) << key;
      if (key.find("loss") == std::string::npos) continue;
      EXPECT_EQ(got.at(key), value) << key << " of " << b;
      ++losses;
    }
    EXPECT_GT(losses, 4) << a;
  }
};

}  // namespace

TEST_F(Fp8ParamGather, HasTheSameBits) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  struct Way {
    const char *recipe, *more;
    int ranks;
  };
  int at = 0;
  for (const Way& way :
       {Way{kDelayed, "", 2}, Way{kDelayed, "--overlap-param-gather --overlap-grad-reduce", 4},
        Way{kDelayed, "--tensor-model-parallel-size 2 --sequence-parallel", 4},
        Way{kTensorwise, "--overlap-param-gather --recompute-granularity full", 4},
        Way{kTensorwise, "--tensor-model-parallel-size 2", 4}, Way{kTensorwise, "--context-parallel-size 2", 4}}) {
    const std::string flags = fmt::format("{} {} --train-iters 4 ", way.recipe, way.more),
                      values = fmt::format("values{}", at), codes = fmt::format("codes{}", at);
    ++at;
    for (const auto& [dir, more] : {std::pair{values, ""}, std::pair{codes, "--fp8-param-gather"}}) {
      const Ran ran = megalith(line(dir, flags + more), {.ranks = way.ranks});
      ASSERT_TRUE(ran.ok()) << flags << more << ran.err;
    }
    expect_same_losses(values, codes);
    expect_same_tensors(values + "/iter_0000004", codes + "/iter_0000004");
  }
}

// A run is cut, and resumes with the flag or without it.
TEST_F(Fp8ParamGather, ResumesToTheSameBits) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const auto run = [&](const std::string& dir, const std::string& more) {
    const Ran ran = megalith(line(dir, std::string(kDelayed) + " " + more), {.ranks = 2});
    ASSERT_TRUE(ran.ok()) << more << ran.err;
  };
  run("whole", "--fp8-param-gather --train-iters 6");
  run("cut", "--fp8-param-gather --train-iters 2"), run("cut", "--train-iters 4");
  run("cut", "--fp8-param-gather --train-iters 6");
  expect_same_tensors("whole/iter_0000006", "cut/iter_0000006");
}

// Ranks gather codes, and the plan's report shows them.
TEST_F(Fp8ParamGather, PlansCodes) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const auto plan = [&](const std::string& more) {
    return must(line("x", std::string(kDelayed) + " --train-iters 2 --dry-run --world-size 2 --print-plan " + more))
        .out;
  };
  const std::string values = plan(""), codes = plan("--fp8-param-gather");
  EXPECT_EQ(values.find("cast_shard"), std::string::npos);
  EXPECT_NE(codes.find("cast_shard"), std::string::npos) << codes.substr(0, 4000);
}

TEST_F(Fp8ParamGather, RefusesWhatIsNotBuilt) {
  const std::string fp8 = "--train-iters 2 --bf16 --fp8-param-gather ";
  for (const auto& [flags, said] : std::vector<std::pair<std::string, std::string>>{
           {"--use-distributed-optimizer", "give --fp8-format"},
           {"--fp8-format hybrid", "give --use-distributed-optimizer"},
           {"--fp8-format e4m3 --use-distributed-optimizer --fp8-recipe blockwise",
            "not built for --fp8-recipe blockwise"},
           {"--fp8-format hybrid --use-distributed-optimizer --optimizer-cpu-offload",
            "not built for --optimizer-cpu-offload"}})
    expect_refused(pretrain(fp8 + flags), said);
}

}  // namespace megalith::test
