// An injected fault must affect the named rank and iteration. Without --inject-allowed it is refused.
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "inject/storm.h"
#include "tests/cli/workshop.h"

namespace megalith::test {
namespace {

class PlantedFaults : public Workshop {
 protected:
  int files_ = 0;
  Ran run(const std::string& faults, const std::string& more = "", const RunLimits& limits = {}) {
    return megalith(
        pretrain("--eval-iters 0 --train-iters 4 --log-interval 1 --inject-allowed --inject " + faults + " " + more),
        limits);
  }
};

TEST_F(PlantedFaults, AreRefusedUnlessAllowed) {
  expect_refused(pretrain("--train-iters 2 --inject kill@0:1"), "add --inject-allowed");
  const std::string allowed = pretrain("--train-iters 2 --inject-allowed --inject ");
  expect_refused(allowed + "melt@0:1", "there is no kind melt: want one of nan, flip");
  expect_refused(allowed + "flip@0:1:wire", "receives nothing in a step");
  expect_refused(allowed + "drop@0:1", "have connections: start them so");
  expect_refused(allowed + "agent-kill@0:1", "has no agent");
  expect_refused(allowed + "controller-kill@0:1", "has no agent");
  expect_refused(allowed + "disk@0:1:wet", "there is no wet: want full, eio or slow");
  expect_refused(allowed + "disk@0:1:full:seconds=2", "only a slow disk has seconds");
  expect_refused(allowed + "kill@0:1:in=bed", "want in=exchange, in=save, in=init or in=load");
  expect_refused(allowed + "kill@0:0:in=init", "want 1 or more");
  expect_refused(pretrain("--train-iters 2 --inject storm:mtbf=5s"), "add --inject-allowed");
  expect_refused(allowed + "storm:seed=7", "say how often, as in storm:mtbf=5s:seed=7");
  expect_refused(allowed + "storm:mtbf=5", "mtbf=5: want the mean seconds between failures");
  expect_refused(allowed + "storm:mtbf=5s:kinds=melt", "kinds=melt: want some of kill, stop, abort and segv");
  expect_refused(allowed + "storm:mtbf=5s:at=3", "there is no argument at=3");
  expect_refused(allowed + "storm:mtbf=5s storm:mtbf=6s", "there is another storm");
  expect_refused(allowed + "kill@0", "want KIND@RANK:ITERATION");
  expect_refused(allowed + "kill@1:1", "there is no rank 1");
  expect_refused(allowed + "kill@0:0", "want 1 or more");
  expect_refused(allowed + "nan@0:1:layers.0.mlp.einsum.7", "layers.0.mlp.einsum.0");
  expect_refused(allowed + "nan@0:1:layers.0.mlp.einsum.0:at=3", "there is no argument at=3");
  expect_refused(allowed + "flip@0:1:weight:bit=32", "of 32 bits");
}

TEST_F(PlantedFaults, EndTheProcess) {
  const Ran kill = run("kill@0:3");
  EXPECT_EQ(kill.signal, SIGKILL);
  EXPECT_NE(kill.out.find("iteration        2/"), std::string::npos) << kill.out;
  EXPECT_EQ(kill.out.find("iteration        3/"), std::string::npos) << kill.out;
  EXPECT_EQ(run("exit@0:1:42").exit_code, 42);
  const Ran error = run("throw@0:2");
  EXPECT_EQ(error.exit_code, 1);
  EXPECT_NE(error.err.find("iteration 2: the planted fault throw@0:2"), std::string::npos) << error.err;
  const Ran term = run("term@0:2", "--save " + *this / "term" + " --save-interval 100");
  EXPECT_EQ(term.exit_code, 0) << term.err;
  EXPECT_NE(term.out.find("after receiving SIGTERM"), std::string::npos) << term.out;
}

// The evaluation behind the iteration runs ops of the same names.
TEST_F(PlantedFaults, PutNoNanIntoAnEvaluation) {
  const std::string file = *this / "m.jsonl";
  const Ran ran = run("nan@0:2:layers.0.mlp.einsum.0", "--eval-iters 1 --eval-interval 1 --metrics-file " + file);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("the step is skipped (1 in a row)"), std::string::npos) << ran.err;
  i64 evaluations = 0;
  std::istringstream lines(slurp(file));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json record = nlohmann::json::parse(line);
    if (!record.contains("validation_loss")) continue;
    ++evaluations;
    EXPECT_TRUE(record["validation_loss"].is_number()) << line;
  }
  EXPECT_EQ(evaluations, 4);
}

// Without a launch there is one start, the first.
TEST_F(PlantedFaults, StrikeInAPhaseOfTheStart) {
  for (const char* phase : {"init", "load"}) {
    const std::string in = std::string(":in=") + phase;
    const Ran kill = run("kill@0:1" + in);
    EXPECT_EQ(kill.signal, SIGKILL) << phase;
    EXPECT_EQ(kill.out.find("iteration        1/"), std::string::npos) << kill.out;
    const Ran error = run("throw@0:1" + in);
    EXPECT_NE(error.err.find("start 1: the planted fault throw@0:1" + in), std::string::npos) << error.err;
    EXPECT_TRUE(run("kill@0:2" + in).ok()) << phase;
  }
}

TEST_F(PlantedFaults, ComeInStorms) {
  const auto storm = find_storm({"slow@0:1:2, storm:mtbf=5s:seed=7:kinds=kill+stop"});
  ASSERT_TRUE(storm.has_value());
  std::map<int, int> ranks, signals;
  constexpr int kStarts = 2000;
  double seconds = 0;
  for (int start = 1; start <= kStarts; ++start) {
    const StormStrike s = strike_of(*storm, start, 3);
    seconds += s.seconds, ++ranks[s.rank], ++signals[s.signal];
  }
  EXPECT_NEAR(seconds / kStarts, 5, 5 * 4 / std::sqrt(kStarts));  // four standard deviations of the mean
  for (int rank = 0; rank < 3; ++rank) EXPECT_NEAR(ranks[rank], kStarts / 3., 4 * std::sqrt(kStarts * 2 / 9.));
  EXPECT_EQ(signals[SIGKILL] + signals[SIGSTOP], kStarts);
  EXPECT_GT(std::min(signals[SIGKILL], signals[SIGSTOP]), kStarts / 3);
  const Ran ran = run("storm:mtbf=0.05s", "--train-iters 100000");
  EXPECT_EQ(ran.signal, SIGKILL) << ran.err;
}

// After a bit flip the first step has other results. Earlier steps have the same.
TEST_F(PlantedFaults, FlipBits) {
  const auto told = [&](const std::string& faults) {
    const std::string file = *this / ("m" + std::to_string(files_++) + ".jsonl");
    const std::string how = faults.empty() ? "" : "--inject-allowed --inject " + faults;
    const Ran ran =
        megalith(pretrain("--eval-iters 0 --train-iters 4 --log-interval 1 --metrics-file " + file + " " + how));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return digits(file);
  };
  const auto usual = told("");
  EXPECT_EQ(told("flip@0:9:weight"), usual);  // allowed, but the run ends before its iteration
  struct Flip {
    const char* what;
    int loss, grad_norm;  // the first iteration with another loss; with another norm
  };
  for (const Flip& f : {Flip{"weight:bit=24:element=3104", 2, 2},
                        {"grad:bit=24:element=3104", 3, 2},
                        {"moment:bit=24:name=decoder.final_layernorm.weight.exp_avg", 3, 3}}) {
    const auto flipped = told(std::string("flip@0:2:") + f.what);
    for (int i = 1; i <= 4; ++i) {
      const std::string at = std::to_string(i);
      if (i < f.loss) EXPECT_EQ(flipped.at(at + " lm_loss"), usual.at(at + " lm_loss")) << f.what << " " << i;
      if (i == f.loss) EXPECT_NE(flipped.at(at + " lm_loss"), usual.at(at + " lm_loss")) << f.what << " " << i;
      if (i < f.grad_norm) EXPECT_EQ(flipped.at(at + " grad_norm"), usual.at(at + " grad_norm")) << f.what << " " << i;
      if (i == f.grad_norm) EXPECT_NE(flipped.at(at + " grad_norm"), usual.at(at + " grad_norm")) << f.what << " " << i;
    }
  }
}

// One rank is slow. --log-straggler shows its own compute time, not the wait of the other rank.
TEST_F(PlantedFaults, SlowDownARank) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ran ran = run("slow@1:1:20:steps=4", "--log-straggler --log-interval 4 --global-batch-size 4", {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const size_t slowest = ran.out.find("slowest");
  ASSERT_NE(slowest, std::string::npos) << ran.out;
  const size_t one = ran.out.find("rank 1", slowest), zero = ran.out.find("rank 0", slowest);
  EXPECT_LT(one, zero) << ran.out;
}

}  // namespace
}  // namespace megalith::test
