// Every optimizer trains, saves, resumes with the same bits, and is converted to Megatron's format and back. Several
// ranks have the same losses as one.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct OptimizerCase {
  const char* name;
  const char* flags;
};
void PrintTo(const OptimizerCase& c, std::ostream* out) { *out << c.name; }

constexpr OptimizerCase kOptimizerCases[] = {
    {"adam", "--optimizer adam"},
    {"sgd", "--optimizer sgd"},
    {"lion", "--optimizer lion --lr 1e-4"},
    {"muon", "--optimizer muon"},
    {"adam_narrow_state", "--optimizer adam --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"},
    {"muon_narrow_state", "--optimizer muon --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"},
    {"adam_all_narrow", "--optimizer adam --bf16 --main-grads-dtype bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"},
    {"muon_lion_bf16", "--optimizer muon --muon-scalar-optimizer lion --muon-nesterov --bf16"}};

class Optimizers : public Workshop, public ::testing::WithParamInterface<OptimizerCase> {
 protected:
  std::string line(const std::string& dir, const std::string& more) {
    return pretrain(fmt::format(
        "--save-interval 100 --save {0} --load {0} --metrics-file {0}.jsonl --lr-decay-iters 10 --global-batch-size 4 "
        "--log-interval 1 --weight-decay 0.1 --seed 5 {1} {2}",
        *this / dir, GetParam().flags, more));
  }
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const Ran diff = megalith("inspect --diff " + *this / a + " " + *this / b);
    EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  }
};

TEST_P(Optimizers, ResumeToTheSameBits) {
  must(line("whole", "--train-iters 6"));
  must(line("cut", "--train-iters 3")), must(line("cut", "--train-iters 6"));
  expect_same_tensors("whole/iter_0000006", "cut/iter_0000006");
}

TEST_P(Optimizers, GoThroughMegatronsFormat) {
  must(line("whole", "--train-iters 6"));
  must(line("theirs", "--train-iters 3 --ckpt-format torch_dist"));
  must(fmt::format("convert --load {} --save {} --to native", *this / "theirs/iter_0000003", *this / "ours"));
  must(fmt::format("convert --load {} --save {} --to torch_dist", *this / "ours", *this / "back"));
  expect_same_tensors("theirs/iter_0000003", "back/iter_0000003");
  for (const std::string dir : {"theirs", "ours", "back"}) {
    must(line(dir, "--train-iters 6"));
    expect_same_tensors("whole/iter_0000006", dir + "/iter_0000006");
  }
}

TEST_P(Optimizers, TrainOnRanksAsOnOne) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const bool bf16 = std::string(GetParam().flags).find("--bf16") != std::string::npos;
  const double bound = bf16 ? 0.02 : 1e-5;  // the loss is about 5; bf16 rounds partial products by 2^-9
  must(line("one", "--train-iters 6"));
  const auto one = digits(*this / "one.jsonl");
  const RunLimits four{.ranks = 4};
  const std::string cut = "--tensor-model-parallel-size 2 --use-distributed-optimizer ";
  for (const std::string more : {"--tensor-model-parallel-size 2 ", cut.c_str()}) {
    const std::string dir = more == cut ? "cut" : "split";
    const Ran ran = megalith(line(dir, more + "--train-iters 6"), four);
    ASSERT_TRUE(ran.ok()) << ran.err;
    for (const auto& [key, value] : digits(*this / (dir + ".jsonl")))
      if (key.find("lm_loss") != std::string::npos)
        EXPECT_NEAR(std::stod(value), std::stod(one.at(key)), bound) << more << key;
  }
  ASSERT_TRUE(megalith(line("again", cut + "--train-iters 3"), four).ok());
  ASSERT_TRUE(megalith(line("again", cut + "--train-iters 6"), four).ok());
  expect_same_tensors("cut/iter_0000006", "again/iter_0000006");
}

INSTANTIATE_TEST_SUITE_P(, Optimizers, ::testing::ValuesIn(kOptimizerCases),
                         [](const auto& info) { return std::string(info.param.name); });

class OptimizerFlags : public Workshop {};

// Checkpoints have f32 moments. So a run with either type of moments resumes from the other's checkpoint, and prints a
// line about it.
TEST_F(OptimizerFlags, AnotherTypeOfMomentsIsTold) {
  const std::string narrow = "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16";
  for (const bool first : {false, true}) {
    const std::string dir = *this / (first ? "narrow" : "wide"),
                      line = "--save-interval 100 --lr-decay-iters 10 --save " + dir + " --load " + dir + " ";
    must(pretrain(line + "--train-iters 3 " + (first ? narrow : "")));
    const Ran ran = megalith(pretrain(line + "--train-iters 5 " + (first ? "" : narrow)));
    ASSERT_TRUE(ran.ok()) << ran.err;
    const std::string told = first ? "exp_avg_dtype bf16 -> fp32, exp_avg_sq_dtype bf16 -> fp32"
                                   : "exp_avg_dtype fp32 -> bf16, exp_avg_sq_dtype fp32 -> bf16";
    EXPECT_NE((ran.out + ran.err).find(told), std::string::npos) << ran.out << ran.err;
  }
}

TEST_F(OptimizerFlags, ThatCannotBeAreRefused) {
  for (const auto& [flags, said] : std::vector<std::pair<std::string, std::string>>{
           {"--optimizer soap", "lion, muon"},
           {"--optimizer lion --lion-beta1 1", "--lion-beta1 1 is out of range: from 0 to below 1 is wanted"},
           {"--optimizer muon --muon-num-ns-steps 4", "--muon-num-ns-steps 4: from 1 on and a multiple of 5 is wanted"},
           {"--optimizer muon --muon-no-split-qkv", "--muon-no-split-qkv: queries, keys and values as one matrix"},
           {"--optimizer muon --optimizer-cpu-offload", "--optimizer muon needs unsplit matrices"}})
    expect_refused(pretrain("--train-iters 2 " + flags), said);
}

}  // namespace
}  // namespace megalith::test
