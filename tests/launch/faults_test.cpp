// Injects all kinds of faults into ranks. The run must continue with the same bits, and the launch must name the rank.
// $MEGALITH_ALL_FAULTS injects each kind into all ranks, in two iterations.
#include <signal.h>

#include <algorithm>

#include "inject/storm.h"
#include "launched_training.h"
#include "memory_group.h"

namespace megalith::test {
namespace {

struct PlantedKind {
  std::string fault;
  std::vector<std::string> told;  // texts about the affected rank, of which one is there
};

class LaunchedFaults : public LaunchedTraining {
 protected:
  static constexpr int kRanks = 3, kIterations = 8;
  static std::vector<std::string> flags() {
    return {"--standalone", "--nproc-per-node", std::to_string(kRanks), "--snapshot-steps", "1", "--hang-seconds", "2"};
  }
  std::vector<std::string> trained(const std::string& name, const std::string& more = "") const {
    return pretrain(name, kIterations, "--global-batch-size 6 --save-interval 1000000 --inject-allowed " + more);
  }
  Ended run(const std::string& name, const std::string& fault, const std::string& more = "",
            const std::vector<std::string>& with = flags()) {
    return start(with, trained(name, more), {{"MEGALITH_INJECT", fault}}).end();
  }
  void run_whole() {
    const Ended whole = start(flags(), trained("whole")).end();
    ASSERT_EQ(whole.code, 0) << whole.err;
  }
  // "kill:in=save" at rank 1 in iteration 4: "kill@1:4:in=save".
  static std::string text_of(const std::string& kind, int rank, int iteration) {
    const std::string name = kind.substr(0, kind.find(':'));
    return name + "@" + std::to_string(rank) + ":" + std::to_string(iteration) + kind.substr(name.size());
  }
  static std::string folder_of(std::string fault) {
    for (char& c : fault)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
    return fault;
  }
  // A line has one of the texts, and names the rank.
  static void expect_named(const Ended& e, const std::vector<std::string>& told, int rank) {
    const std::string named = "rank " + std::to_string(rank) + " (pid ";
    bool is_told = false;
    for (const std::string& text : told)
      for (const std::string& line : e.lines_with(text)) is_told = is_told || line.find(named) != std::string::npos;
    EXPECT_TRUE(is_told) << told[0] << "\n" << e.err;
  }
  static void expect_restarts(const Ended& e, size_t restarts) {
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.lines_with(" of 100").size(), restarts) << e.err;
  }
  void expect_gone_on(const PlantedKind& kind, int rank, int iteration) {
    const std::string text = text_of(kind.fault, rank, iteration), name = folder_of(text);
    SCOPED_TRACE(text);
    const Ended e = run(name, text);
    expect_restarts(e, 1);
    expect_named(e, kind.told, rank);
    EXPECT_EQ(count_of(e.out, "resumes from the snapshot of iteration " + std::to_string(iteration - 1) + " "), 1)
        << e.out << e.err;
    expect_same_end("whole", name, kIterations);
    EXPECT_TRUE(processes_of(*this / name).empty());
  }
  // Each kind at one rank, or at all ranks in an early and in the last iteration.
  void expect_each(const std::vector<PlantedKind>& kinds) {
    run_whole();
    int next = 0;
    for (const PlantedKind& kind : kinds)
      if (!std::getenv("MEGALITH_ALL_FAULTS"))
        expect_gone_on(kind, next++ % kRanks, 4);
      else
        for (int rank = 0; rank < kRanks; ++rank)
          for (const int iteration : {2, kIterations}) expect_gone_on(kind, rank, iteration);
  }
};

TEST_F(LaunchedFaults, GoOnBehindEachKind) {
  expect_each({{"kill", {"was ended by SIGKILL"}},
               {"abort", {"was ended by SIGABRT"}},
               {"segv", {"was ended by SIGSEGV"}},
               {"throw", {"ended with exit code 1"}},
               {"exit:7", {"ended with exit code 7"}},
               {"stop", {"hangs after iteration", "has been silent for "}},
               {"hang", {"hangs after iteration"}}});
}

// The second start is struck too, and the third one is whole.
TEST_F(LaunchedFaults, GoOnBehindAKillOfAStart) {
  run_whole();
  for (const std::string phase : {"init", "load"}) {
    const Ended e = run(phase, "kill@0:4 kill@2:2:in=" + phase);
    expect_restarts(e, 2);
    for (const auto& [rank, at] : {std::pair(0, "after iteration 3"), {2, "before its first iteration"}}) {
      const std::vector<std::string> lines = e.lines_with(at);
      ASSERT_EQ(lines.size(), 1u) << e.err;
      EXPECT_NE(lines[0].find("rank " + std::to_string(rank) + " (pid "), std::string::npos) << lines[0];
    }
    expect_same_end("whole", phase, kIterations);
  }
}

// Each start has the failure of the storm's sequence.
TEST_F(LaunchedFaults, GoOnInAStorm) {
  constexpr int kStarts = 3;
  StormSettings storm{.mean_seconds = 3, .seed = 1, .signals = {SIGKILL}};
  const auto suits = [&](int start) {
    const double at = strike_of(storm, start, kRanks).seconds;
    return at > 1.5 && at < 3;
  };
  while (!suits(1) || !suits(2) || !suits(3)) ++storm.seed;
  LaunchRun& run = start(flags(), pretrain("storm", 10000000, "--global-batch-size 6 --inject-allowed"),
                         {{"MEGALITH_INJECT", "storm:mtbf=3s:seed=" + std::to_string(storm.seed)}});
  ASSERT_TRUE(run.wait_until([&] { return count_of(run.err(), " was ended by SIGKILL") == kStarts; })) << run.err();
  kill(run.pid(), SIGTERM);
  const Ended e = run.end();
  const std::vector<std::string> lines = e.lines_with(" was ended by SIGKILL");
  for (int i = 1; i <= kStarts; ++i) {
    const std::string rank = "rank " + std::to_string(strike_of(storm, i, kRanks).rank) + " (pid ";
    EXPECT_NE(lines[size_t(i - 1)].find(rank), std::string::npos) << e.err;
  }
}

// With snapshots the time of a hang is learned. An evaluation and a slow save are none.
TEST_F(LaunchedFaults, GoOnBehindAHangWithoutATimeForIt) {
  const std::string more = "--save-interval 2 --eval-interval 3 --eval-iters 2";
  const std::vector<std::string> with{"--standalone", "--nproc-per-node", "3", "--snapshot-steps", "1"};
  const Ended whole = run("whole", "disk@1:4:slow:seconds=3", more, with);
  expect_restarts(whole, 0);
  const Ended e = run("hang", "hang@1:7", more, with);
  expect_restarts(e, 1);
  expect_named(e, {"hangs after iteration 6"}, 1);
  EXPECT_EQ(e.lines_with("no rank made progress for ").size(), 1u) << e.err;
  expect_same_end("whole", "hang", kIterations);
}

TEST_F(LaunchedFaults, GoOnBehindFaultsInsideAnExchange) {
  expect_each({{"kill:in=exchange", {"was ended by SIGKILL"}},
               {"throw:in=exchange", {"ended with exit code 1"}},
               {"hang:in=exchange", {"hangs after iteration"}}});
}

// The state is complete in memory, so the save does not cost a step.
TEST_F(LaunchedFaults, GoOnBehindAKillInASave) {
  run_whole();
  for (const int rank : {0, 2}) {
    const std::string text = text_of("kill:in=save", rank, 4), name = folder_of(text);
    const Ended e = run(name, text, "--save-interval 3");
    expect_restarts(e, 1);
    expect_named(e, {"was ended by SIGKILL"}, rank);
    expect_same_end("whole", name, kIterations);
    const std::string folder = *this / name;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

// Two ranks of three cannot exchange data any more, although all run.
TEST_F(LaunchedFaults, GoOnBehindADroppedConnection) {
  run_whole();
  const Ended e = run("drop", "drop@1:4:0");
  expect_restarts(e, 1);
  const std::vector<std::string> told = e.lines_with(" lost its connection to rank ");
  ASSERT_FALSE(told.empty()) << e.err;
  for (const std::string& line : told) EXPECT_EQ(line.find("rank 2"), std::string::npos) << line;
  EXPECT_EQ(e.lines_with("exit code 1 after iteration 3").size(), 1u) << e.err;
  expect_same_end("whole", "drop", kIterations);
}

// The system kills a rank whose control group has no memory left. To take it may last longer than a step.
TEST_F(LaunchedFaults, GoOnBehindARankThatTakesAllMemory) {
  run_whole();
  const Ended refused = run("refused", "oom@1:4");
  if (!MemoryGroup::has_limit()) {
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.lines_with("start the run in a control group with one").size(), 2u) << refused.err;
  }
  constexpr i64 kBytes = i64{2} << 30;
  const MemoryGroup group(kBytes);
  if (!group.is_there()) GTEST_SKIP() << "this user cannot make a control group";
  const Ended e = run("oom", "oom@1:4", "",
                      {"--standalone", "--nproc-per-node", "3", "--snapshot-steps", "1", "--hang-seconds", "0"});
  expect_restarts(e, 1);
  expect_named(e, {"its control group ran out of memory"}, 1);
  expect_same_end("whole", "oom", kIterations);
}

// A full, a broken or a slow disk costs a checkpoint or time, but no step.
TEST_F(LaunchedFaults, CostNoStepOnTheDisk) {
  run_whole();
  int rank = 0;
  for (const auto& [how, reason] : std::map<std::string, std::string>{
           {"full", "No space left on device"}, {"eio", "Input/output error"}, {"slow:seconds=1", ""}}) {
    const std::string text = text_of("disk:" + how, rank, 2), name = folder_of(text);
    SCOPED_TRACE(text);
    const Ended e = run(name, text, "--save-interval 3", {"--standalone", "--nproc-per-node", "3"});
    expect_restarts(e, 0);
    const std::vector<std::string> told = e.lines_with("was not saved, training continues: ");
    ASSERT_EQ(told.size(), reason.empty() ? 0u : 1u) << e.err;
    if (!reason.empty()) {
      EXPECT_NE(told[0].find("checkpoint at iteration 3"), std::string::npos) << told[0];
      EXPECT_NE(told[0].find("rank " + std::to_string(rank) + ": "), std::string::npos) << told[0];
      EXPECT_NE(told[0].find(reason), std::string::npos) << told[0];
    }
    expect_same_end("whole", name, kIterations);
    ++rank;
  }
}

TEST_F(LaunchedFaults, OfOneRankThatEndNothing) {
  run_whole();
  expect_restarts(run("slow", "slow@1:3:20"), 0);
  expect_same_end("whole", "slow", kIterations);
  const Ended nan = run("nan", "nan@2:3:layers.0.mlp.einsum.0");
  expect_restarts(nan, 0);
  EXPECT_EQ(nan.lines_with("rank 2").size(), 1u) << nan.err;
  constexpr int kEndless = 1000000;
  const Ended told =
      start(flags(), pretrain("term", kEndless, "--global-batch-size 6 --save-interval 1000000 --inject-allowed"),
            {{"MEGALITH_INJECT", "term@1:3"}})
          .end();
  expect_restarts(told, 0);
  EXPECT_GE(saved("term"), 2);
  EXPECT_LT(saved("term"), kEndless);
}

// A rank whose copy of a weight is wrong because a transfer flipped a bit. The hash over replicas names it.
TEST_F(LaunchedFaults, OnTheWireAreNamed) {
  run_whole();
  const Ended e = run("wire", "flip@2:4:wire", "--check-weight-hash-across-dp-replicas-interval 2");
  expect_restarts(e, 1);
  EXPECT_EQ(e.lines_with("iteration 4: rank 2 on ").size(), 1u) << e.err;
  expect_named(e, {"exit code 16"}, 2);
  expect_same_end("whole", "wire", kIterations);
}

}  // namespace
}  // namespace megalith::test
