// Silent data corruption under `megalith launch`. The run must detect and report it, and never save it. The run ends
// with the bits of an undisturbed run.
#include <random>

#include "launched_training.h"

namespace megalith::test {
namespace {

class Doubts : public LaunchedTraining {
 protected:
  static constexpr int kIterations = 10;
  std::vector<std::string> command(const std::string& name, const std::string& more) const {
    return pretrain(name, kIterations, "--global-batch-size 6 --save-interval 1000 " + more);
  }
  Ended run(const std::string& name, const std::string& more) {
    return start({"--standalone", "--nproc-per-node", "3", "--snapshot-steps", "2"}, command(name, more)).end();
  }
  static std::string inject(const std::string& fault) { return "--inject-allowed --inject " + fault + " "; }
};

constexpr const char* kHash = "--check-weight-hash-across-dp-replicas-interval 2 ";

TEST_F(Doubts, AboutACopyOfAWeightNameItsRank) {
  const int seed = number_from("MEGALITH_SEED", int(std::random_device{}() % 1000000));
  std::printf("seed %d\n", seed);
  std::mt19937 random{unsigned(seed)};
  for (const bool is_cut : {false, true}) {
    const std::string optimizer = is_cut ? "" : "--use-distributed-optimizer=false ";
    const std::string name = is_cut ? "cut" : "whole";
    const Ended usual = run(name + "-usual", optimizer);
    ASSERT_EQ(usual.code, 0) << usual.err;
    const unsigned rank = random() % 3;
    // The update could round away a flipped low bit, so only the high half is flipped.
    const std::string fault = "flip@" + std::to_string(rank) + ":4:weight:element=" + std::to_string(random() % 32) +
                              ":bit=" + std::to_string(16 + random() % 16) + (is_cut ? ":behind=update" : "");
    const Ended e = run(name, optimizer + kHash + inject(fault));
    EXPECT_EQ(e.code, 0) << e.err;
    const std::string named = "iteration 4: rank " + std::to_string(rank) + " on ";
    ASSERT_EQ(e.lines_with(named).size(), 1u) << fault << "\n" << e.err;
    EXPECT_NE(e.lines_with(named)[0].find("has wrong weights: its copy of "), std::string::npos) << e.err;
    EXPECT_EQ(e.lines_with("exit code 16").size(), 1u) << e.err;
    EXPECT_NE(e.err.find("rank " + std::to_string(rank) + " (pid "), std::string::npos) << e.err;
    EXPECT_EQ(count_of(e.out, "resumes from the snapshot of iteration 2 "), 1) << e.out;
    expect_same_end(name + "-usual", name, kIterations);
  }
}

TEST_F(Doubts, AboutGradientsTellFaultsThatPassFromThoseThatStay) {
  const Ended usual = run("usual", "");
  ASSERT_EQ(usual.code, 0) << usual.err;
  const std::string replay = "--replay-interval 3 ";
  const Ended quiet = run("quiet", replay + kHash);
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.lines_with("warning: iteration").size(), 0u) << quiet.err;
  expect_same_end("usual", "quiet", kIterations);
  const Ended passes = run("passes", replay + inject("flip@1:6:grad:replay=2"));
  EXPECT_EQ(passes.code, 0) << passes.err;
  EXPECT_EQ(passes.lines_with("iteration 6: rank 1 on ").size(), 1u) << passes.err;
  EXPECT_EQ(passes.lines_with("the fault was transient").size(), 1u) << passes.err;
  EXPECT_EQ(passes.lines_with("exit code 16").size(), 1u) << passes.err;
  expect_same_end("usual", "passes", kIterations);
  const Ended told = run("told", replay + "--rerun-mode report_stats " + inject("flip@1:6:grad:replay=all"));
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(told.lines_with("the fault is persistent").size(), 1u) << told.err;
  EXPECT_EQ(told.lines_with("restart").size(), 0u) << told.err;
  expect_same_end("usual", "told", kIterations);
  const Ended stays = run("stays", replay + inject("flip@2:3:grad:replay=all"));
  EXPECT_EQ(stays.code, 17) << stays.err;
  EXPECT_EQ(stays.lines_with("iteration 3: rank 2 on ").size(), 1u) << stays.err;
  EXPECT_NE(stays.last_line().find("rank 2 (pid "), std::string::npos) << stays.err;
  EXPECT_EQ(saved("stays"), 0);
  const Ended off = run("off", replay + "--rerun-mode disabled " + inject("flip@2:3:grad:replay=all"));
  EXPECT_EQ(off.code, 0) << off.err;
}

}  // namespace
}  // namespace megalith::test
