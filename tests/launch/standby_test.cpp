// --standby: tests of ranks that are ready to take over. If ranks of a run are killed, the run continues with standby
// ranks, with the same bits.
#include <signal.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "launched_training.h"

namespace megalith::test {
namespace {

class Standby : public LaunchedTraining {
 protected:
  static constexpr int kRanks = 2;
  const std::vector<std::string> flags_{
      "--standalone", "--nproc-per-node", std::to_string(kRanks), "--snapshot-steps", "1", "--max-restarts",
      "1000",         "--standby"};
  std::vector<std::string> endless(const std::string& name, const std::string& more = "") const {
    return pretrain(name, 10000000,
                    "--save-interval 10000000 --lr-decay-style constant --log-interval 1 --log-level debug " + more);
  }
  // Waits until all ranks run, and the log has reported ready standby ranks this many times.
  static bool are_ready(LaunchRun& run, int times) {
    return run.wait_until([&] {
      return count_of(run.err(), "2 standby ranks are ready") == times && int(run.ranks().size()) == 2 * kRanks;
    });
  }
  // Makes the run save and exit. It must have the same bits as an undisturbed run.
  Ended end_alike(LaunchRun& run, const std::string& name) {
    kill(run.pid(), SIGTERM);
    const Ended cut = run.end();
    EXPECT_EQ(cut.code, 0) << cut.err;
    EXPECT_TRUE(processes_of(*this / name).empty());
    const int last = saved(name);
    if (last == 0) ADD_FAILURE() << "nothing is saved";
    if (last == 0) return cut;
    const Ended whole = start({"--standalone", "--nproc-per-node", std::to_string(kRanks)},
                              endless("whole", "--exit-interval " + std::to_string(last)))
                            .end();
    EXPECT_EQ(whole.code, 0) << whole.err;
    expect_same_end("whole", name, last);
    return cut;
  }
};

TEST_F(Standby, TakesOverWhereARankIsKilled) {
  constexpr int kKills = 3;
  LaunchRun& run = start(flags_, endless("cut"));
  for (int k = 0; k < kKills; ++k) {
    ASSERT_TRUE(are_ready(run, k + 1)) << run.err();
    const std::vector<pid_t> all = run.ranks_by_age();
    kill(all[size_t(k) % kRanks], SIGKILL);
    ASSERT_TRUE(run.wait_until([&] { return count_of(run.err(), " completed iteration ") == k + 1; })) << run.err();
    const std::set<pid_t> former(all.begin(), all.begin() + kRanks), standby(all.begin() + kRanks, all.end());
    const auto count_in_run = [&run](const std::set<pid_t>& some) {
      return std::ranges::count_if(run.ranks(), [&](pid_t pid) { return some.contains(pid); });
    };
    // The other former rank may end a moment after the takeover.
    EXPECT_TRUE(run.wait_until([&] { return count_in_run(former) == 0; })) << k;
    EXPECT_TRUE(run.wait_until([&] { return count_in_run(standby) == kRanks; })) << k;
  }
  const Ended cut = end_alike(run, "cut");
  EXPECT_EQ(count_of(cut.out, "this rank takes over"), kKills) << cut.out;
  EXPECT_EQ(count_of(cut.out, "resumes from the snapshot"), kKills) << cut.out;
}

// Kills training ranks and standby ranks at random times.
TEST_F(Standby, GoesOnWhicheverRankIsKilled) {
  const int kills = number_from("MEGALITH_KILLS", 5);
  const int seed = number_from("MEGALITH_SEED", int(std::random_device{}() % 1000000));
  std::printf("seed %d\n", seed);
  std::mt19937 random{unsigned(seed)};
  LaunchRun& run = start(flags_, endless("cut"));
  int done = 0;
  const auto count_on = [&] {
    while (has_done(run, done + 1)) ++done;
    return done;
  };
  for (int k = 0; k < kills; ++k) {
    count_on();
    ASSERT_TRUE(run.wait_until([&] { return has_done(run, done + 1); })) << run.err();  // otherwise the launch gives up
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    if (const std::vector<pid_t> all = run.ranks(); !all.empty()) kill(all[random() % all.size()], SIGKILL);
  }
  const int last = count_on() + 3;  // by then the killed ranks are replaced
  ASSERT_TRUE(run.wait_until([&] { return has_done(run, last); })) << run.err();
  end_alike(run, "cut");
}

TEST_F(Standby, IsNotNeededForAStart) {
  LaunchRun& run = start(flags_, endless("cut"));
  ASSERT_TRUE(are_ready(run, 1)) << run.err();
  const std::vector<pid_t> all = run.ranks_by_age();
  kill(all.back(), SIGKILL);
  ASSERT_TRUE(run.wait_until([&] { return count_of(run.err(), " exited: the next restart") > 0; })) << run.err();
  ASSERT_TRUE(run.wait_until([&] { return int(run.ranks().size()) == kRanks; })) << run.err();
  EXPECT_EQ(count_of(run.err(), "restart 1"), 0) << run.err();  // the training ranks continued without a restart
  kill(all.front(), SIGKILL);
  ASSERT_TRUE(run.wait_until([&] { return count_of(run.err(), " completed iteration ") == 1; })) << run.err();
  const Ended cut = end_alike(run, "cut");
  EXPECT_EQ(count_of(cut.out, "this rank takes over"), 0) << cut.out;
  EXPECT_EQ(count_of(cut.out, "resumes from the snapshot"), 1) << cut.out;
}

TEST_F(Standby, EndsWithItsLaunch) {
  LaunchRun& run = start(flags_, endless("endless"));
  ASSERT_TRUE(are_ready(run, 1)) << run.err();
  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.end().code, 128 + SIGKILL);
  for (int i = 0; i < 2000 && !processes_of(*this / "endless").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(processes_of(*this / "endless").empty());
}

// When the launch ends, no standby rank starts. So standby ranks delay neither the save nor the end.
TEST_F(Standby, EndsWhenItsLaunchIsToldToEnd) {
  std::vector<std::string> flags = flags_;
  flags.insert(flags.end(), {"--hang-seconds", "0"});  // it stops a rank
  LaunchRun& run = start(flags, endless("cut"));
  ASSERT_TRUE(are_ready(run, 1)) << run.err();
  const std::vector<pid_t> all = run.ranks_by_age();
  kill(all[0], SIGSTOP);  // so that the other ranks cannot end
  kill(run.pid(), SIGTERM);
  EXPECT_TRUE(run.wait_until([&] { return run.ranks_by_age() == std::vector(all.begin(), all.begin() + kRanks); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(int(run.ranks().size()), kRanks);  // no standby rank has started
  kill(all[0], SIGCONT);
  end_alike(run, "cut");
}

TEST_F(Standby, IsRefusedWhereItIsNotBuilt) {
  const auto refused = [&](std::vector<std::string> flags, const std::string& why) {
    const Ended e = start(std::move(flags), {"--", "pretrain-gpt"}).end();
    EXPECT_EQ(e.code, 1) << e.err;
    EXPECT_NE(e.err.find(why), std::string::npos) << e.err;
  };
  refused({"--standby", "--standalone", "--min-ranks", "1"}, "--standby is not built for a changing number of ranks");
  refused({"--standby", "--nnodes", "1:2"}, "--standby is not built for a changing number of ranks");
  refused({"--standby", "--nnodes", "2", "--node-rank", "0", "--rdzv-endpoint", "127.0.0.1:29999"},
          "--standby is built for one node, this launch has 2");
  const Ended e = start({"--standby", "--standalone"}, {"--", "evaluate"}).end();
  EXPECT_NE(e.err.find("--standby: the command evaluate has no iterations"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace megalith::test
