// Tests of snapshots in the agent's memory. A run whose ranks are killed resumes from them, with the bits of an
// undisturbed run. $MEGALITH_KILLS: number of kills (4); $MEGALITH_SEED: seed of the random times.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "launched_training.h"

namespace megalith::test {
namespace {

class LaunchedSnapshots : public LaunchedTraining {
 protected:
  // Only the final checkpoint is on disk.
  static constexpr const char* kNoSaves = "--save-interval 1000000 ";
  static int number_behind(const std::string& line, const std::string& words) {
    return std::atoi(line.c_str() + line.find(words) + words.size());
  }
  // Changes a data byte of every snapshot of a launch. Returns the number of snapshots.
  static int damage_all(pid_t agent) {
    int damaged = 0;
    for (const auto& fd : std::filesystem::directory_iterator("/proc/" + std::to_string(agent) + "/fd")) {
      std::error_code gone;
      const std::string to = std::filesystem::read_symlink(fd.path(), gone).string();
      if (to.find("megalith-snapshot") == std::string::npos || std::filesystem::file_size(fd.path(), gone) < 200)
        continue;
      std::fstream file(fd.path(), std::ios::in | std::ios::out | std::ios::binary);
      constexpr int kByteOfData = 100;
      file.seekg(kByteOfData);
      const int before = file.get();
      file.seekp(kByteOfData);
      file.put(char(before ^ 4));
      damaged += file.flush() ? 1 : 0;
    }
    return damaged;
  }
};

TEST_F(LaunchedSnapshots, GoOnThroughRandomKills) {
  const int kills = number_from("MEGALITH_KILLS", 4), iterations = 16 * kills;
  const int seed = number_from("MEGALITH_SEED", int(std::random_device{}() % 1000000));
  std::printf("seed %d\n", seed);
  std::mt19937 random{unsigned(seed)};
  const std::vector<std::string> flags{"--standalone", "--nproc-per-node", "4", "--max-restarts",
                                       "100000",       "--snapshot-steps", "1"};
  const Ended whole = start({"--standalone", "--nproc-per-node", "4"}, pretrain("whole", iterations, kNoSaves)).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  LaunchRun& run = start(flags, pretrain("cut", iterations, std::string(kNoSaves) + "--log-interval 1"));
  std::vector<pid_t> last;
  int done = 1;
  for (int k = 0; k < kills; ++k) {
    const std::vector<pid_t> ranks = run.wait_for_new_ranks(4, last);
    ASSERT_FALSE(ranks.empty()) << k << run.err();
    while (has_done(run, done + 1)) ++done;  // also what the killed ranks have printed last
    const int next = done + 1;
    ASSERT_TRUE(run.wait_until([&] { return has_done(run, next); })) << k << run.err();
    last = ranks;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    kill(ranks[random() % 4], SIGKILL);
  }
  const Ended cut = run.end(120 + 2 * kills);
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_GE(int(cut.lines_with("was ended by SIGKILL").size()), kills - 1) << cut.err;
  // A start resumes at the iteration of the killed rank, or repeats one iteration. A rank may be killed before its
  // first iteration after another rank has completed it.
  i64 least = 0, begins = 0;
  for (const std::string& line : cut.lines_with("megalith launch: ")) {
    if (line.find("was ended by SIGKILL after iteration ") != std::string::npos)
      least = number_behind(line, " after iteration ");
    if (line.find(" completed iteration ") == std::string::npos) continue;
    ++begins;
    EXPECT_GE(number_behind(line, " completed iteration "), least) << cut.err;
  }
  EXPECT_GE(begins, i64(cut.lines_with("was ended by SIGKILL after iteration ").size())) << cut.err;
  EXPECT_GE(count_of(cut.out, "resumes from the snapshot"), kills - 1) << cut.out;
  expect_same_end("whole", "cut", iterations);
  EXPECT_TRUE(processes_of(*this / "cut").empty());
  if (std::getenv("MEGALITH_KILLS")) std::printf("%s", cut.err.c_str());
}

TEST_F(LaunchedSnapshots, FallBackToTheDiskWhereTheyAreDamaged) {
  const std::string saves = "--save-interval 4 ";
  LaunchRun& run = start(
      {"--standalone", "--nproc-per-node", "2", "--snapshot-steps", "1", "--hang-seconds", "0"},  // it stops ranks
      pretrain("cut", 40, saves + "--log-interval 1"));
  ASSERT_TRUE(run.wait_until([&] { return has_done(run, 6); })) << run.err();
  const std::vector<pid_t> ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 2u);
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);
  EXPECT_EQ(damage_all(run.pid()), 4);
  kill(ranks[0], SIGKILL);
  kill(ranks[1], SIGCONT);
  const Ended cut = run.end();
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_NE(cut.err.find("a snapshot in memory is damaged"), std::string::npos) << cut.err;
  EXPECT_EQ(cut.lines_with("resuming from disk").size(), 1u) << cut.err;
  EXPECT_EQ(count_of(cut.out, "resumes from the snapshot"), 0) << cut.out;
  const Ended whole = start({"--standalone", "--nproc-per-node", "2"}, pretrain("whole", 40, saves)).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  expect_same_end("whole", "cut", 40);
}

// There are two nodes. Each rank has its whole state in the memory of its own agent.
TEST_F(LaunchedSnapshots, GoOnOverTwoNodes) {
  const Listener held = hold_port("127.0.0.1");
  const std::string endpoint = "127.0.0.1:" + std::to_string(held.port);
  const auto node = [&](const char* rank) -> LaunchRun& {
    return start({"--nnodes", "2", "--node-rank", rank, "--rdzv-endpoint", endpoint, "--nproc-per-node", "2",
                  "--snapshot-steps", "2"},
                 pretrain("nodes", 24, std::string(kNoSaves) + "--log-interval 1"));
  };
  LaunchRun &first = node("0"), &second = node("1");
  ASSERT_TRUE(first.wait_until([&] { return has_done(first, 5); })) << first.err() << second.err();
  const std::vector<pid_t> ranks = second.ranks();
  if (!ranks.empty()) kill(ranks.back(), SIGKILL);
  const Ended one = first.end(), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot"), 1) << one.out << one.err;
  const Ended whole = start({"--standalone", "--nproc-per-node", "4"}, pretrain("whole", 24, kNoSaves)).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  expect_same_end("whole", "nodes", 24);
}

// Two nodes. Each node has copies of the other node's snapshots.
class SnapshotReplicas : public LaunchedSnapshots {
 protected:
  static constexpr int kIterations = 40;
  LaunchRun& node(int rank, const std::vector<std::string>& more = {"--snapshot-replicas", "1"},
                  int iterations = kIterations) {
    std::vector<std::string> flags{"--nnodes",         "2",
                                   "--node-rank",      std::to_string(rank),
                                   "--rdzv-endpoint",  "127.0.0.1:" + std::to_string(held_.port),
                                   "--nproc-per-node", "2",
                                   "--snapshot-steps", "1"};
    flags.insert(flags.end(), more.begin(), more.end());
    return start(flags, pretrain("nodes", iterations, std::string(kNoSaves) + "--log-interval 1"));
  }
  void expect_undisturbed_end(int iterations = kIterations) {
    const Ended whole = start({"--standalone", "--nproc-per-node", "4"}, pretrain("whole", iterations, kNoSaves)).end();
    ASSERT_EQ(whole.code, 0) << whole.err;
    expect_same_end("whole", "nodes", iterations);
  }

  const Listener held_ = hold_port("127.0.0.1");
};

// A node is lost at random moments, repeatedly. The new node may not have a snapshot yet.
TEST_F(SnapshotReplicas, ReplaceALostNode) {
  const int kills = number_from("MEGALITH_KILLS", 3), seed = number_from("MEGALITH_SEED", 7);
  std::mt19937 random{unsigned(seed)};
  const int iterations = 20 * (kills + 1);
  LaunchRun& first = node(0, {"--snapshot-replicas", "1", "--max-restarts", "1000"}, iterations);
  int done = 4;
  for (int k = 0; k < kills; ++k) {
    LaunchRun& lost = node(1, {"--snapshot-replicas", "1"}, iterations);
    // Every second time the test waits for new iterations. Three starts without new iterations would end the launch.
    const auto is_time = [&] {
      return k % 2 == 1 ? count_of(first.out(), "resumes from the snapshot") >= k : has_done(first, done + 2);
    };
    ASSERT_TRUE(first.wait_until(is_time)) << k << first.err();
    // On a fast machine the run would end within this time. So the kill comes after six new iterations at the latest.
    const auto latest = std::chrono::steady_clock::now() + std::chrono::milliseconds(random() % 300);
    first.wait_until([&] { return std::chrono::steady_clock::now() >= latest || has_done(first, done + 6); });
    kill(lost.pid(), SIGKILL);
    lost.end();
    while (has_done(first, done + 1)) ++done;
  }
  LaunchRun& second = node(1, {"--snapshot-replicas", "1"}, iterations);
  const Ended one = first.end(120 + 2 * kills), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot"), kills) << one.out << one.err;
  EXPECT_TRUE(one.lines_with("resuming from disk").empty()) << one.err;
  expect_undisturbed_end(iterations);
}

// The controller's node may be lost too. The remaining node has copies of its snapshots.
TEST_F(SnapshotReplicas, ReplaceNodeZero) {
  LaunchRun &lost = node(0), &second = node(1);
  ASSERT_TRUE(lost.wait_until([&] { return has_done(lost, 6); })) << lost.err() << second.err();
  kill(lost.pid(), SIGKILL);
  LaunchRun& first = node(0);
  const Ended one = first.end(), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot"), 1) << one.out << one.err;
  expect_undisturbed_end();
}

TEST_F(SnapshotReplicas, StandInForDamagedSnapshots) {
  const std::vector<std::string> flags{"--snapshot-replicas", "1", "--hang-seconds", "0"};  // it stops ranks
  LaunchRun &first = node(0, flags), &second = node(1, flags);
  ASSERT_TRUE(first.wait_until([&] { return has_done(first, 6); })) << first.err() << second.err();
  for (const pid_t rank : first.ranks()) kill(rank, SIGSTOP);
  const std::vector<pid_t> ranks = second.ranks();
  ASSERT_EQ(ranks.size(), 2u);
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);
  EXPECT_EQ(damage_all(second.pid()), 8);  // its own snapshots, and its copies of the other node's
  kill(ranks[0], SIGKILL);
  for (const pid_t rank : first.ranks()) kill(rank, SIGCONT);
  kill(ranks[1], SIGCONT);
  const Ended one = first.end(), two = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_NE(one.err.find("a snapshot in memory is damaged"), std::string::npos) << one.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot"), 1) << one.out << one.err;
  expect_undisturbed_end();
}

TEST_F(SnapshotReplicas, NeedOtherNodes) {
  const Ended e =
      start({"--standalone", "--snapshot-steps", "1", "--snapshot-replicas", "1"}, {"--", "pretrain-gpt"}).end();
  EXPECT_EQ(e.code, 1) << e.err;
  EXPECT_NE(e.err.find("--snapshot-replicas 1: there are 0 other nodes"), std::string::npos) << e.err;
}

// If a node has no copy elsewhere, its loss is the loss of its snapshots.
TEST_F(SnapshotReplicas, AreNeededForALostNode) {
  LaunchRun &first = node(0, {}), &lost = node(1, {});
  ASSERT_TRUE(first.wait_until([&] { return has_done(first, 6); })) << first.err() << lost.err();
  kill(lost.pid(), SIGKILL);
  node(1, {});
  const Ended one = first.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(count_of(one.out, "resumes from the snapshot"), 0) << one.out << one.err;
  EXPECT_EQ(one.lines_with("resuming from disk").size(), 1u) << one.err;
}

}  // namespace
}  // namespace megalith::test
