// Tests of a run's timing blocks. Megatron's own regular expressions parse them, and the phases sum to the iteration.
#include <cmath>
#include <map>
#include <regex>

#include "tests/cli/workshop.h"

namespace megalith::test {
namespace {

class Timing : public Workshop {
 protected:
  // Steps take some tens of milliseconds, so the time between them is negligible.
  std::string run(const std::string& more) {
    return "pretrain-gpt --num-layers 2 --hidden-size 128 --num-attention-heads 2 --seq-length 128 --micro-batch-size "
           "4 "
           "--mock-data --vocab-size 1000 --lr 1e-3 --eval-iters 0 --no-progress --log-interval 3 " +
           more;
  }
};

// The (min, max) of each block, by name.
std::vector<std::map<std::string, std::pair<double, double>>> blocks(const std::string& out) {
  std::vector<std::map<std::string, std::pair<double, double>>> all;
  std::istringstream in(out);
  const std::regex line(R"(^    ([a-z/-]+) (\.+): \(([0-9.]+), ([0-9.]+)\)$)");
  for (std::string text; std::getline(in, text);) {
    std::smatch m;
    if (text == "(min, max) time across ranks (ms):") all.emplace_back();
    if (all.empty() || !std::regex_match(text, m, line)) continue;
    all.back()[m[1]] = {std::stod(m[3]), std::stod(m[4])};
    EXPECT_EQ(m[1].length() + m[2].length() + 1, 48) << text;
  }
  return all;
}

double sum(const std::map<std::string, std::pair<double, double>>& block) {
  double out = 0;
  for (const char* name :
       {"forward-backward", "all-grads-sync", "embedding-grads-all-reduce", "params-all-gather", "optimizer"})
    if (block.contains(name)) out += block.at(name).second;
  return out;
}

TEST_F(Timing, PhasesSumToTheIteration) {
  // A loaded machine may delay a step, so the test uses the best block.
  const Ran ran = must(run("--train-iters 30 --timing-log-level 1"));
  const auto all = blocks(ran.out);
  ASSERT_GE(all.size(), 9u) << ran.out;
  double best = 1;
  for (const auto& block : all) {
    ASSERT_TRUE(block.contains("interval-time") && block.contains("forward-backward") && block.contains("optimizer"));
    EXPECT_FALSE(block.contains("forward-compute"));
    const double whole = block.at("interval-time").second;
    EXPECT_LE(sum(block), whole + 0.05);
    best = std::min(best, 1 - sum(block) / whole);
    double parts = 0;
    for (const auto& [name, time] : block)
      if (name.starts_with("optimizer-")) parts += time.second;
    EXPECT_NEAR(parts, block.at("optimizer").second, 0.05);
  }
  EXPECT_LT(best, 0.02);
}

TEST_F(Timing, LevelsTellTheirNames) {
  EXPECT_EQ(must(run("--train-iters 3")).out.find("across ranks"), std::string::npos);
  const auto zero = blocks(must(run("--train-iters 3 --timing-log-level 0")).out);
  ASSERT_FALSE(zero.empty());
  EXPECT_EQ(zero[0].size(), 1u);
  EXPECT_TRUE(zero[0].contains("interval-time"));
  const auto saved =
      blocks(must(run("--train-iters 3 --timing-log-level 0 --save-interval 3 --save " + *this / "save")).out);
  ASSERT_FALSE(saved.empty());
  EXPECT_TRUE(saved.back().contains("save-checkpoint"));
  const auto two = blocks(must(run("--train-iters 3 --timing-log-level 2")).out);
  ASSERT_FALSE(two.empty());
  for (const char* name : {"forward-compute", "backward-compute", "batch-generator"})
    EXPECT_TRUE(two[0].contains(name)) << name;
  EXPECT_NEAR(two.back().at("forward-backward").second,
              two.back().at("forward-compute").second + two.back().at("backward-compute").second +
                  two.back().at("batch-generator").second,
              0.05);
  const Ran all = must(run("--train-iters 3 --timing-log-level 1 --timing-log-option all"));
  EXPECT_TRUE(std::regex_search(all.out, std::regex("times across ranks \\(ms\\):\n  interval-time:\n     rank  0: ")))
      << all.out;
  expect_refused(run("--train-iters 3 --timing-log-level 3"), "--timing-log-level 3 is out of range: from 0 to 2");
}

TEST_F(Timing, PipelinesReceive) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ran ran = megalith(run("--train-iters 3 --timing-log-level 2 --pipeline-model-parallel-size 2 "
                               "--global-batch-size 8"),
                           {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto all = blocks(ran.out);
  ASSERT_FALSE(all.empty()) << ran.out;
  for (const char* name : {"forward-recv", "backward-recv", "embedding-grads-all-reduce"})
    EXPECT_TRUE(all.back().contains(name)) << name << ran.out;
}

}  // namespace
}  // namespace megalith::test
