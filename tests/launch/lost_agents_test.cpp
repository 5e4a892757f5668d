// Agents of a training run are killed. What starts agents on their nodes, such as Slurm, starts them again here.
#include <signal.h>

#include "launched_training.h"

namespace megalith::test {
namespace {

class LostAgents : public LaunchedTraining {
 protected:
  static constexpr int kIterations = 12;
  std::vector<std::string> trained(const std::string& name) const {
    return pretrain(name, kIterations, "--save-interval 1000000 --inject-allowed");
  }
  LaunchRun& node(const std::string& name, int node, const std::string& fault, int spares = 0) {
    const std::string endpoint = "127.0.0.1:" + std::to_string(held_.port);
    std::map<std::string, std::string> variables;
    if (!fault.empty()) variables["MEGALITH_INJECT"] = fault;
    return start({"--spares", std::to_string(spares), "--nnodes", std::to_string(2 + spares), "--node-rank",
                  std::to_string(node), "--rdzv-endpoint", endpoint, "--nproc-per-node", "2", "--snapshot-steps", "1",
                  "--snapshot-replicas", "1"},
                 trained(name), variables);
  }
  void run_whole() {
    const Ended whole = start({"--standalone", "--nproc-per-node", "4"}, trained("whole")).end();
    ASSERT_EQ(whole.code, 0) << whole.err;
  }

  const Listener held_ = hold_port("127.0.0.1");
};

// The other node has a copy of the state in memory, so no step is repeated from the disk.
TEST_F(LostAgents, AreReplaced) {
  run_whole();
  for (const int lost : {0, 1}) {
    const std::string fault = "agent-kill@" + std::to_string(2 * lost + 1) + ":5", name = "lost" + std::to_string(lost);
    SCOPED_TRACE(fault);
    LaunchRun& first = node(name, lost, fault);
    LaunchRun& other = node(name, 1 - lost, fault);
    EXPECT_EQ(first.end().code, 128 + SIGKILL);
    const Ended again = node(name, lost, "").end(), end = other.end();
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(end.code, 0) << end.err;
    const char* told = lost == 0 ? "node 1 lost its connection to node 0" : "is lost: waiting 60 s for it";
    EXPECT_EQ(end.lines_with(told).size(), 1u) << end.err;
    EXPECT_EQ(count_of(again.out + end.out, "resumes from the snapshot of iteration "), 1) << again.out << end.out;
    expect_same_end("whole", name, kIterations);
    EXPECT_TRUE(processes_of(*this / name).empty());
  }
}

// Nobody starts anything. The spare node reads the state of the lost node from its copy.
TEST_F(LostAgents, AreReplacedByASpareNode) {
  run_whole();
  const std::string fault = "agent-kill@3:5", name = "spare";
  LaunchRun& first = node(name, 0, fault, 1);
  LaunchRun &lost = node(name, 1, fault, 1), &spare = node(name, 2, fault, 1);
  Ended two = lost.end();  // of the nodes 1 and 2 the one that comes later is the spare one, and goes on
  if (two.code != 0) two = spare.end();
  const Ended one = first.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.lines_with("is lost: a spare node takes over").size(), 1u) << one.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot of iteration "), 1) << one.out << one.err;
  expect_same_end("whole", name, kIterations);
  EXPECT_TRUE(processes_of(*this / name).empty());
}

// The ranks train on without a controller. The next one takes over the same generation, and restarts it when a rank is
// killed.
TEST_F(LostAgents, OrTheControllerCostNoStep) {
  run_whole();
  const std::string fault = "controller-kill@1:3", name = "controller";
  LaunchRun& first = node(name, 0, fault + ",kill@2:9");
  LaunchRun& other = node(name, 1, fault + ",kill@2:9");
  const Ended one = first.end(), two = other.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.lines_with("the controller has ended: the ranks train on").size(), 1u) << one.err;
  EXPECT_EQ(one.lines_with("a new controller has taken over 4 ranks of generation 1").size(), 1u) << one.err;
  EXPECT_EQ(two.lines_with("lost its connection to node 0").size(), 1u) << two.err;
  EXPECT_EQ(one.lines_with("rank 2 (pid ").size(), 2u) << one.err;  // by the watch, and by the new controller
  EXPECT_EQ(one.lines_with(": restart 1 of 100").size(), 1u) << one.err;
  EXPECT_EQ(one.lines_with("generation 2 completed iteration ").size(), 1u) << one.err;
  EXPECT_EQ(count_of(one.out + two.out, "resumes from the snapshot of iteration "), 1) << one.out;
  expect_same_end("whole", name, kIterations);
  EXPECT_TRUE(processes_of(*this / name).empty());
}

// The only agent has all snapshots, so the next launch resumes from the disk.
TEST_F(LostAgents, OfOneNodeEndTheLaunch) {
  const Ended e = start({"--standalone", "--nproc-per-node", "2"}, pretrain("one", kIterations, "--inject-allowed"),
                        {{"MEGALITH_INJECT", "agent-kill@1:5"}})
                      .end();
  EXPECT_EQ(e.code, 128 + SIGKILL);
  const auto are_gone = [&] { return processes_of(*this / "one").empty(); };
  for (int tries = 0; tries < 2000 && !are_gone(); ++tries) usleep(5000);
  EXPECT_TRUE(are_gone());
  const Ended again = start({"--standalone", "--nproc-per-node", "2"}, pretrain("one", kIterations)).end();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(saved("one"), kIterations);
  EXPECT_EQ(count_of(again.out, "iterations 5 to 12"), 1) << again.out;
}

}  // namespace
}  // namespace megalith::test
