// Ranks that are killed or stopped: the others end within 5 s, not with 0, and say which rank it was and what it was
// at.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "launch.h"

namespace megalith::test {
namespace {

const RunOf kGoOn = {.size = 8, .words = {"go-on"}};
constexpr const char* kOperation = "all_gather over tp_kv tp_rep, layer 3 attention";

Act send(int signal, int rank) {
  return [=](const std::map<int, pid_t>& ranks, pid_t) { kill(ranks.at(rank), signal); };
}

std::string described(const Ran& ran) { return ran.err + ran.out; }

void expect_all_end(const Ran& ran, const std::string& rank, const std::string& what) {
  EXPECT_TRUE(ran.all_failed()) << described(ran);
  EXPECT_TRUE(ran.is_all_gone) << described(ran);
  EXPECT_LT(ran.seconds_after_act, 5) << described(ran);

  const std::vector<std::string> lines = ran.lines("megalith:");
  ASSERT_FALSE(lines.empty()) << described(ran);
  for (const std::string& line : lines) {
    for (const std::string& word : {rank + " (pid ", what, std::string(kOperation)})
      EXPECT_NE(line.find(word), line.npos) << line << "\nlacks " << word;
  }
  // The hub speaks for all; without it each speaks for itself.
  EXPECT_LE(lines.size(), rank == "rank 0" ? ran.pids.size() - 1 : 1u) << described(ran);
}

struct Death {
  int signal, rank;
};

class Deaths : public ::testing::TestWithParam<Death> {
 protected:
  std::string rank() const { return "rank " + std::to_string(GetParam().rank); }
  const char* what() const { return GetParam().signal == SIGSTOP ? "has been silent" : "disappeared (killed"; }
};

TEST_P(Deaths, UnderMpirun) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  expect_all_end(run_by_mpirun(kGoOn, send(GetParam().signal, GetParam().rank)), rank(), what());
}

TEST_P(Deaths, UnderTheEnvironment) {
  expect_all_end(run_by_environment(kGoOn, send(GetParam().signal, GetParam().rank)), rank(), what());
}

INSTANTIATE_TEST_SUITE_P(Watch, Deaths,
                         ::testing::Values(Death{SIGKILL, 5}, Death{SIGKILL, 0}, Death{SIGSTOP, 5}, Death{SIGSTOP, 0}),
                         [](const auto& p) {
                           return (p.param.signal == SIGKILL ? "Kill" : "Stop") + std::to_string(p.param.rank);
                         });

TEST(Watch, SigtermOfOneRankEndsAll) {
  for (const int rank : {0, 2})
    expect_all_end(run_by_environment({.size = 4, .words = {"go-on"}}, send(SIGTERM, rank)),
                   "rank " + std::to_string(rank), "was ended by SIGTERM");
}

TEST(Watch, SigtermOfTheLauncherEndsAll) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  const Ran ran = run_by_mpirun(kGoOn, [](const auto&, pid_t launcher) { kill(launcher, SIGTERM); });
  EXPECT_TRUE(ran.all_failed());
  EXPECT_TRUE(ran.is_all_gone);
  EXPECT_LT(ran.seconds_after_act, 5);
}

// A job that is suspended as a whole goes on afterwards.
TEST(Watch, AllStoppedForAWhileIsNoSilence) {
  bool were_alive = true;
  const Act suspend = [&](const std::map<int, pid_t>& ranks, pid_t) {
    for (const auto& [rank, pid] : ranks) kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(4500));
    for (const auto& [rank, pid] : ranks) kill(pid, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    for (const auto& [rank, pid] : ranks) were_alive = were_alive && kill(pid, 0) == 0;
    kill(ranks.at(1), SIGKILL);
  };
  const Ran ran = run_by_environment({.size = 3, .words = {"go-on"}}, suspend);
  EXPECT_TRUE(were_alive) << described(ran);
  EXPECT_EQ(ran.lines("silent").size(), 0u) << described(ran);
  EXPECT_EQ(ran.lines("rank 1 (").size(), 1u) << described(ran);
}

// A rank whose threads get no core is silent too. Its process is not stopped, so the others wait for it.
TEST(Watch, ARankWithoutACoreMayBeSilentForLonger) {
  for (const int silent : {0, 2}) {
    bool were_alive = true;
    const Act starve = [&](const std::map<int, pid_t>& ranks, pid_t) {
      const pid_t pid = ranks.at(silent);
      for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid)))
        syscall(SYS_tgkill, pid, std::atoi(thread.path().filename().c_str()), SIGQUIT);
      std::this_thread::sleep_for(std::chrono::seconds(8));
      for (const auto& [rank, other] : ranks) were_alive = were_alive && kill(other, 0) == 0;
    };
    const Ran ran = run_by_environment({.size = 3, .words = {"go-on-drowsily"}}, starve);
    EXPECT_TRUE(were_alive) << described(ran);
    EXPECT_TRUE(ran.all_failed()) << described(ran);
    EXPECT_TRUE(ran.is_all_gone) << described(ran);
    EXPECT_GT(ran.seconds_after_act, 19) << described(ran);  // 20 s of silence
    EXPECT_LT(ran.seconds_after_act, 40) << described(ran);
    EXPECT_FALSE(ran.lines("has been silent for 20.").empty()) << described(ran);
  }
}

}  // namespace
}  // namespace megalith::test
