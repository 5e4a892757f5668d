// Tests of the agent with small scripts as ranks: the environment of ranks, the actions after their exits, and that no
// process is left.
#include <signal.h>

#include <algorithm>

#include "base/dtype.h"
#include "comm/socket.h"
#include "launch_folder.h"
#include "launch_run.h"

namespace megalith::test {
namespace {

class Agent : public LaunchFolder {
 protected:
  // Arguments to run `script` as the ranks of one node. Each start appends a line to the file `starts`.
  std::vector<std::string> words(int ranks, const std::string& script, std::vector<std::string> flags = {}) const {
    std::vector<std::string> all{"--standalone", "--nproc-per-node", std::to_string(ranks)};
    all.insert(all.end(), flags.begin(), flags.end());
    const std::string counted = "echo $RANK >> " + *this / "starts" + "; " + script;
    all.insert(all.end(), {"--", "/bin/bash", "-c", counted});
    return all;
  }
  Ended run(int ranks, const std::string& script, std::vector<std::string> flags = {}) const {
    return LaunchRun(dir(), words(ranks, script, std::move(flags))).end();
  }
  i64 starts() const {
    const std::string text = text_of_file(*this / "starts");
    return std::ranges::count(text, '\n');
  }
  bool has(const std::string& name) const { return std::filesystem::exists(*this / name); }
  void expect_none_left() const { EXPECT_TRUE(processes_of(dir()).empty()); }
};

TEST_F(Agent, GivesEachRankItsPlace) {
  const Ended e = run(3, "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MEGALITH_GENERATION");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(e.err, "");
  for (const char* line : {"0 3 0 3 127.0.0.1 1\n", "1 3 1 3 127.0.0.1 1\n", "2 3 2 3 127.0.0.1 1\n"})
    EXPECT_NE(e.out.find(line), std::string::npos) << e.out;
}

TEST_F(Agent, TakesExitCodesAsTheTableSays) {
  struct Row {
    const char *script, *last;
    int code, starts;
  };
  for (const Row& row :
       {Row{"exit 0", "", 0, 1}, Row{"echo wrong flag >&2; exit 1", "wrong flag", 1, 1},
        Row{"exit 2", "exit code 2 before its first iteration", 1, 1}, Row{"exit 85", "", 85, 1},
        Row{"exit 17", "exit code 17", 17, 1}, Row{"kill -9 $$", "SIGKILL", 93, 3},
        Row{"exit 75", "3 starts without a new iteration", 93, 3}, Row{"exit 16", "exit code 16", 93, 3}}) {
    std::filesystem::remove(*this / "starts");
    const Ended e = run(1, row.script);
    EXPECT_EQ(e.code, row.code) << row.script << "\n" << e.err;
    EXPECT_EQ(starts(), row.starts) << row.script;
    EXPECT_NE(e.last_line().find(row.last), std::string::npos) << row.script << "\n" << e.err;
  }
}

constexpr const char* kDidOne = "printf 'did %d' $MEGALITH_GENERATION >&$MEGALITH_LAUNCH_FD; ";

TEST_F(Agent, StartsAllRanksAgainAfterAnErrorBehindTheFirstStep) {
  const Ended e = run(2, std::string(kDidOne) +
                             "[ $MEGALITH_GENERATION = 3 ] || [ $RANK = 0 ] && sleep 0.1; "
                             "[ $MEGALITH_GENERATION = 3 ] || exit $((75 - 74 * RANK))");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(starts(), 6);
  EXPECT_EQ(e.lines_with("rank 1 (pid ").size(), 2u) << e.err;
  EXPECT_EQ(e.lines_with("restart 2 of 100").size(), 1u) << e.err;
  EXPECT_EQ(e.lines_with("generation 3 completed iteration 3").size(), 1u) << e.err;
}

TEST_F(Agent, HoldsToItsNumberOfRestarts) {
  const Ended e = run(1, std::string(kDidOne) + "echo the disk is full >&2; exit 1", {"--max-restarts=2"});
  EXPECT_EQ(e.code, 1);
  EXPECT_EQ(starts(), 3);
  EXPECT_NE(e.last_line().find("--max-restarts"), std::string::npos) << e.err;
  EXPECT_NE(e.last_line().find("the disk is full"), std::string::npos) << e.err;
}

TEST_F(Agent, KillsRanksThatOutliveAnother) {
  const Ended e = run(2, "[ $RANK = 1 ] && kill -9 $$; trap '' TERM; while true; do sleep 1; done");
  EXPECT_EQ(e.code, 93);
  EXPECT_NE(e.last_line().find("rank 1 "), std::string::npos) << e.err;
  expect_none_left();
}

TEST_F(Agent, WritesLogsAndShowsWhatItIsAskedTo) {
  const std::string script = "echo out $RANK; echo err $RANK >&2; printf 'no end' >&2";
  const std::string logs = *this / "logs", at = logs + "/job/attempt_0/1/";
  const Ended shown = run(2, script, {"--log-dir", logs, "--run-id", "job", "--tee", "3"});
  EXPECT_NE(shown.out.find("[rank1]: out 1\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.err.find("[rank0]: err 0\n"), std::string::npos) << shown.err;
  EXPECT_EQ(text_of_file(at + "stdout.log"), "out 1\n");
  EXPECT_EQ(text_of_file(at + "stderr.log"), "err 1\nno end");
  std::filesystem::remove_all(logs);
  const Ended hidden = run(2, script, {"--log_dir", logs, "--rdzv-id", "job", "-r", "1"});
  EXPECT_EQ(hidden.out, "");
  EXPECT_NE(hidden.err.find("err 1\n"), std::string::npos) << hidden.err;
  EXPECT_EQ(text_of_file(at + "stdout.log"), "out 1\n");
}

TEST_F(Agent, LeavesNothingWhenItIsKilledOrToldToEnd) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    // A killed agent cannot kill processes that its ranks have started.
    const std::string grandchild = "/bin/bash -c 'sleep 1000; true " + dir() + "' & ";
    LaunchRun run(dir(), words(2, signal == SIGKILL ? "while true; do sleep 0.05; done" : grandchild + "wait"));
    ASSERT_TRUE(run.wait_until([&] { return starts() == 2 && run.ranks().size() == 2; }));
    const std::vector<pid_t> ranks = run.ranks();
    kill(run.pid(), signal);
    EXPECT_EQ(run.end().code, 128 + signal);
    for (int tries = 0; tries < 2000 && !processes_of(dir()).empty(); ++tries) usleep(5000);
    expect_none_left();
    const std::vector<pid_t> left = processes_of("sleep");  // may include processes of other tests
    for (const pid_t rank : ranks) EXPECT_EQ(std::ranges::find(left, rank), left.end());
    std::filesystem::remove(*this / "starts");
  }
}

TEST_F(Agent, KillsRanksThatHearNothingAtTheSecondInterrupt) {
  // A new line in `told` shows that the agent has seen the first interrupt. Else it may see only one.
  LaunchRun run(dir(), words(2, "trap 'echo told >> " + *this / "told" + "' INT; touch " + *this / "ready$RANK" +
                                    "; while true; do sleep 0.05; done"));
  ASSERT_TRUE(run.wait_until([&] { return has("ready0") && has("ready1"); }));
  kill(run.pid(), SIGINT);
  ASSERT_TRUE(run.wait_until([&] { return text_of_file(*this / "told") == "told\ntold\n"; }));
  EXPECT_EQ(run.ranks().size(), 2u);
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.end().code, 128 + SIGINT);
  expect_none_left();
}

TEST_F(Agent, StartsAgainWhereNothingMoves) {
  const std::string moves =
      "for i in 1 2 3 4 5 6 7 8; do printf 'at %d sum' $i >&$MEGALITH_LAUNCH_FD; sleep 0.5; done; ";
  const Ended e = run(2, std::string(kDidOne) + "[ $MEGALITH_GENERATION = 2 ] && exit 0; " + moves + "sleep 1000",
                      {"--hang-seconds", "3"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(starts(), 4);
  for (const char* part : {"rank 0 (pid ", "rank 1 (pid "}) {
    ASSERT_EQ(e.lines_with(part).size(), 1u) << e.err;
    EXPECT_NE(e.lines_with(part)[0].find("hangs after iteration 1 at \"sum\""), std::string::npos) << e.err;
  }
  EXPECT_EQ(e.lines_with("no rank made progress for 3 s").size(), 1u) << e.err;
}

// Ranks that compute on one core are slow. Their silence is longer than that of ranks that sleep may be.
TEST_F(Agent, TakesAWaitForACoreForNoHang) {
  const std::string shares = "taskset -cp 0 $$ > /dev/null; ", busy = "while [ $SECONDS -lt 6 ]; do :; done";
  const Ended e = run(3, kDidOne + shares + busy, {"--hang-seconds", "2", "--max-restarts", "1"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(starts(), 3) << e.err;
  const Ended still =
      run(3, "[ $MEGALITH_GENERATION = 2 ] && exit 0; " + (kDidOne + shares) + "sleep 6", {"--hang-seconds", "2"});
  EXPECT_EQ(still.lines_with("no rank made progress for 2 s").size(), 1u) << still.err;
}

// If memory is pinned during steps, it may delay them by seconds.
TEST_F(Agent, WaitsLongerWhereMemoryIsTaken) {
  const std::string settles = "printf settling >&$MEGALITH_LAUNCH_FD; " + std::string(kDidOne) +
                              "sleep 3; printf settled >&$MEGALITH_LAUNCH_FD; [ $MEGALITH_GENERATION = 2 ] && exit 0; ";
  const Ended e = run(2, settles + "sleep 1000", {"--hang-seconds", "1"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(starts(), 4);
  EXPECT_EQ(e.lines_with("hangs after iteration 1").size(), 2u) << e.err;
}

TEST_F(Agent, PassesSignalsOn) {
  LaunchRun run(dir(), words(2, "trap 'echo told >> " + *this / "told" + "' USR1; trap 'exit 85' USR2; touch " +
                                    *this / "ready$RANK" + "; while true; do sleep 0.05; done"));
  ASSERT_TRUE(run.wait_until([&] { return has("ready0") && has("ready1"); }));
  kill(run.pid(), SIGUSR1);
  ASSERT_TRUE(run.wait_until([&] { return text_of_file(*this / "told") == "told\ntold\n"; }));
  kill(run.pid(), SIGUSR2);
  EXPECT_EQ(run.end().code, 85);
}

std::vector<std::string> node(int rank, int port, const std::string& run_id) {
  return {"--nnodes",         "2",   "--node-rank",     std::to_string(rank),
          "--nproc-per-node", "2",   "--rdzv-endpoint", "127.0.0.1:" + std::to_string(port),
          "--run-id",         run_id};
}

TEST_F(Agent, WorksOverNodes) {
  const Listener held = hold_port("127.0.0.1");
  const auto all = [&](int rank) {
    std::vector<std::string> w = node(rank, held.port, "a");
    const std::vector<std::string> own =
        words(2, "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE; " + std::string(kDidOne) +
                     "[ $MEGALITH_GENERATION = 2 ] || "
                     "[ $RANK != 3 ] || exit 1; sleep 0.2; exit $((75 * (2 - MEGALITH_GENERATION)))");
    w.insert(w.end(), std::find(own.begin(), own.end(), "--"), own.end());
    return w;
  };
  LaunchRun second(dir(), all(1)), first(dir(), all(0));
  const Ended one = first.end(), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(starts(), 8);
  EXPECT_NE(one.out.find("1 of 4, 1 of 2\n"), std::string::npos) << one.out;
  EXPECT_NE(two.out.find("3 of 4, 1 of 2\n"), std::string::npos) << two.out;
  EXPECT_EQ(one.lines_with("rank 3 (pid ").size(), 1u) << one.err;
}

// Slurm or Kubernetes may restart the launch of node 0.
TEST_F(Agent, GoesOnUnderANewController) {
  const Listener held = hold_port("127.0.0.1");
  const auto all = [&](int rank) {
    std::vector<std::string> w = node(rank, held.port, "a");
    const std::vector<std::string> own = words(2, "[ $MEGALITH_GENERATION = 1 ] && exec sleep 1000; exit 0");
    w.insert(w.end(), std::find(own.begin(), own.end(), "--"), own.end());
    return w;
  };
  LaunchRun second(dir(), all(1));
  {
    LaunchRun first(dir(), all(0));
    ASSERT_TRUE(first.wait_until([&] { return starts() == 4; })) << first.err();
    kill(first.pid(), SIGKILL);
    first.end();
  }
  LaunchRun first(dir(), all(0));
  const Ended one = first.end(), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(starts(), 8);
  EXPECT_EQ(two.lines_with("lost its connection to node 0").size(), 1u) << two.err;
}

TEST_F(Agent, TellsWhomItWaitsFor) {
  for (const int rank : {0, 1}) {
    const Listener held = hold_port("127.0.0.1");
    std::vector<std::string> w = node(rank, held.port, "a");
    w.insert(w.end(), {"--", "/bin/bash", "-c", "exit 0; " + dir()});
    LaunchRun alone(dir(), w);
    const char* line =
        rank == 0 ? "node 1 is not here yet: waiting 600 s for it" : "node 1 can't reach node 0 at 127.0.0.1 port ";
    EXPECT_TRUE(alone.wait_until([&] { return alone.err().find(line) != std::string::npos; })) << alone.err();
    kill(alone.pid(), SIGTERM);
    alone.end();
  }
}

TEST_F(Agent, TurnsAwayAnotherRun) {
  const Listener held = hold_port("127.0.0.1");
  const auto all = [&](int rank, const std::string& id) {
    std::vector<std::string> w = node(rank, held.port, id);
    w.insert(w.end(), {"--", "/bin/bash", "-c", "exit 0; " + dir()});
    return w;
  };
  LaunchRun first(dir(), all(0, "a")), stranger(dir(), all(1, "b"));
  const Ended turned = stranger.end();
  EXPECT_EQ(turned.code, 1);
  EXPECT_NE(turned.err.find("another --run-id"), std::string::npos) << turned.err;
  LaunchRun second(dir(), all(1, "a"));
  EXPECT_EQ(second.end().code, 0);
  EXPECT_EQ(first.end().code, 0);
}

// A node with other --snapshot-steps is refused. Its ranks would wait for snapshots that the others do not make.
TEST_F(Agent, TurnsAwayOtherSnapshotSteps) {
  const Listener held = hold_port("127.0.0.1");
  const auto all = [&](int rank, const std::string& steps) {
    std::vector<std::string> w = node(rank, held.port, "a");
    w.insert(w.end(), {"--snapshot-steps", steps, "--", "/bin/bash", "-c", "exit 0; " + dir()});
    return w;
  };
  LaunchRun first(dir(), all(0, "5")), stranger(dir(), all(1, "0"));
  const Ended turned = stranger.end();
  EXPECT_EQ(turned.code, 1);
  EXPECT_NE(turned.err.find("node 0 has --snapshot-steps 5, this node 0"), std::string::npos) << turned.err;
  LaunchRun second(dir(), all(1, "5"));
  EXPECT_EQ(second.end().code, 0);
  EXPECT_EQ(first.end().code, 0);
}

}  // namespace
}  // namespace megalith::test
