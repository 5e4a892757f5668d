// Injects all kinds of faults into the process of a rank. The run must continue with the same bits, and the launch must
// name the rank. $MEGALITH_ALL_FAULTS injects each kind into all ranks, in two iterations.
#include "launched_training.h"

namespace megalith::test {
namespace {

struct PlantedKind {
  std::string fault, told;  // the fault; the launch's text about the affected rank
};

class LaunchedFaults : public LaunchedTraining {
 protected:
  static constexpr int kRanks = 3, kIterations = 8;
  std::vector<std::string> flags() const {
    return {"--standalone", "--nproc-per-node", std::to_string(kRanks), "--snapshot-steps", "1", "--hang-seconds", "2"};
  }
  std::vector<std::string> trained(const std::string& name) const {
    return pretrain(name, kIterations, "--global-batch-size 6 --save-interval 1000000 --inject-allowed");
  }
  void expect_gone_on(const PlantedKind& kind, int rank, int iteration) {
    const std::string fault = kind.fault.substr(0, kind.fault.find(':'));
    const std::string more = kind.fault.substr(fault.size());
    const std::string name = fault + std::to_string(rank) + "-" + std::to_string(iteration);
    const std::string text = fault + "@" + std::to_string(rank) + ":" + std::to_string(iteration) + more;
    SCOPED_TRACE(text);
    const Ended e = start(flags(), trained(name), {{"MEGALITH_INJECT", text}}).end();
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.lines_with(": restart 1 of 100").size(), 1u) << e.err;
    EXPECT_TRUE(e.lines_with(": restart 2 of 100").empty()) << e.err;
    const std::string named = "rank " + std::to_string(rank) + " (pid ";
    bool is_told = false;
    for (const std::string& line : e.lines_with(kind.told)) is_told = is_told || line.find(named) != std::string::npos;
    EXPECT_TRUE(is_told) << e.err;
    EXPECT_EQ(count_of(e.out, "resumes from the snapshot of iteration " + std::to_string(iteration - 1) + " "), 1)
        << e.out << e.err;
    expect_same_end("whole", name, kIterations);
    EXPECT_TRUE(processes_of(*this / name).empty());
  }
};

TEST_F(LaunchedFaults, GoOnBehindEachKind) {
  const std::vector<PlantedKind> kinds{{"kill", "was ended by SIGKILL"},     {"abort", "was ended by SIGABRT"},
                                       {"segv", "was ended by SIGSEGV"},     {"throw", "ended with exit code 1"},
                                       {"exit:7", "ended with exit code 7"}, {"stop", "hangs after iteration"},
                                       {"hang", "hangs after iteration"}};
  const Ended whole = start(flags(), trained("whole")).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  int next = 0;
  for (const PlantedKind& kind : kinds)
    if (!std::getenv("MEGALITH_ALL_FAULTS"))
      expect_gone_on(kind, next++ % kRanks, 4);
    else
      for (int rank = 0; rank < kRanks; ++rank)
        for (const int iteration : {2, kIterations}) expect_gone_on(kind, rank, iteration);
}

}  // namespace
}  // namespace megalith::test
