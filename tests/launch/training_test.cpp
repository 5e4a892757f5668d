// Kills ranks of training runs at random. The launch must continue the runs, with the bits of an undisturbed run.
// $MEGALITH_KILLS: number of kills (12); $MEGALITH_SEED: seed of the random times.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "launched_training.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

TEST_F(LaunchedTraining, GoesOnThroughRandomKills) {
  const int kills = number_from("MEGALITH_KILLS", 12), iterations = 12 * kills;
  const int seed = number_from("MEGALITH_SEED", int(std::random_device{}() % 1000000));
  std::printf("seed %d\n", seed);
  std::mt19937 random{unsigned(seed)};
  const std::vector<std::string> flags{"--standalone", "--nproc-per-node", "4", "--max-restarts", "100000"};
  const Ended whole = start(flags, pretrain("whole", iterations)).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  LaunchRun& run = start(flags, pretrain("cut", iterations));
  std::vector<pid_t> last;
  for (int k = 0; k < kills; ++k) {
    const std::vector<pid_t> ranks = run.wait_for_new_ranks(4, last);
    ASSERT_FALSE(ranks.empty()) << k << run.err();
    last = ranks;
    const int before = saved("cut");
    // Two of three kills come after a new checkpoint. The others come at any time.
    const bool waits = k % 3 != 2;
    ASSERT_TRUE(run.wait_until([&] { return !waits || saved("cut") > before; })) << k << run.err();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (waits ? 30000 : 400000)));
    kill(ranks[random() % 4], SIGKILL);
  }
  const Ended cut = run.end(120 + 2 * kills);
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_GE(int(cut.lines_with("was ended by SIGKILL").size()), kills) << cut.err;
  expect_same_end("whole", "cut", iterations);
  EXPECT_TRUE(processes_of(*this / "cut").empty());
  if (std::getenv("MEGALITH_KILLS")) std::printf("%s", cut.err.c_str());
}

TEST_F(LaunchedTraining, RefusesAConfigurationErrorOnce) {
  const auto began = std::chrono::steady_clock::now();
  const Ended e = start({"--standalone", "--nproc-per-node", "2"}, pretrain("bad", 3, "--num-attention-heads 5")).end();
  std::printf("%.2f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  EXPECT_EQ(e.code, 1);
  EXPECT_TRUE(e.lines_with("restart").empty()) << e.err;
  EXPECT_NE(e.last_line().find("megalith launch: rank "), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("num-attention-heads"), std::string::npos) << e.err;
}

TEST_F(LaunchedTraining, SavesAndLeavesWhenItIsToldTo) {
  LaunchRun& run = start({"--standalone", "--nproc-per-node", "2"}, pretrain("told", 1000000));
  ASSERT_TRUE(run.wait_until([&] { return saved("told") > 2; })) << run.err();
  kill(run.pid(), SIGTERM);
  const Ended e = run.end();
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_GT(saved("told"), 2);
  EXPECT_FALSE(fs::exists(*this / "told/megalith.lock"));
}

// A virtual machine stops, or a user suspends the job. The launch runs again before its ranks do.
TEST_F(LaunchedTraining, GoesOnAfterAPauseOfTheWholeJob) {
  LaunchRun& run = start({"--standalone", "--nproc-per-node", "2", "--snapshot-steps", "1"},
                         pretrain("paused", 10000000, "--save-interval 10000000 --log-interval 1"));
  ASSERT_TRUE(run.wait_until([&] { return has_done(run, 10); })) << run.err();
  const std::vector<pid_t> ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 2u);
  constexpr std::chrono::milliseconds kMoment(300);
  for (const pid_t pid : ranks) kill(pid, SIGSTOP);
  std::this_thread::sleep_for(kMoment);  // the launch hears all that they said
  kill(run.pid(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  const std::string before = run.out();
  kill(run.pid(), SIGCONT);
  std::this_thread::sleep_for(kMoment);
  for (const pid_t pid : ranks) kill(pid, SIGCONT);
  EXPECT_TRUE(run.wait_until([&] { return run.out().size() > before.size(); })) << run.err();
  kill(run.pid(), SIGTERM);
  const Ended e = run.end();
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_TRUE(e.lines_with("restart").empty()) << e.err;
}

// Two pods of a PyTorchJob have two ranks each. The RANK and WORLD_SIZE of a PyTorchJob count pods.
TEST_F(LaunchedTraining, RunsInPodsOfAPyTorchJob) {
  const Listener held = hold_port("127.0.0.1");
  const auto pod = [&](const char* rank) {
    return std::map<std::string, std::string>{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(held.port)}};
  };
  const std::vector<std::string> two{"--nproc-per-node", "2"};
  LaunchRun& first = start(two, pretrain("pods", 8), pod("0"));
  LaunchRun& second = start(two, pretrain("pods", 8), pod("1"));
  ASSERT_TRUE(second.wait_until([&] { return saved("pods") > 1; })) << first.err() << second.err();
  const std::vector<pid_t> ranks = second.ranks();
  if (!ranks.empty()) kill(ranks.back(), SIGKILL);
  const Ended one = first.end(), two_end = second.end();
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two_end.code, 0) << two_end.err;
  const Ended whole = start({"--standalone", "--nproc-per-node", "4"}, pretrain("whole", 8)).end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  expect_same_end("whole", "pods", 8);
}

}  // namespace
}  // namespace megalith::test
