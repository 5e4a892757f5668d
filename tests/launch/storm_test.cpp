// A rank is killed every few seconds, and the run must continue without help. $MEGALITH_STORM_SECONDS: duration (4);
// $MEGALITH_STORM_EVERY: interval (1 s). $MEGALITH_STORM_STANDBY=1: with standby ranks; $MEGALITH_STORM_GOODPUT: the
// least goodput in percent, which depends on the machine.
#include <signal.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "launched_training.h"

namespace megalith::test {
namespace {

class Storm : public LaunchedTraining {
 protected:
  const bool is_long_ = std::getenv("MEGALITH_STORM_SECONDS") != nullptr;
  std::vector<std::string> endless(const std::string& name, const std::string& more) const {
    // Each rank has one core. A read-ahead thread would slow down its steps.
    const std::string size = is_long_ ? "--hidden-size 128 --seq-length 64 --num-workers 0 " : "";
    return pretrain(name, 10000000, "--save-interval 10000000 --lr-decay-style constant " + size + more);
  }
  // The newest iteration in the metrics file. The file is read from its end.
  int newest(const std::string& name) const {
    constexpr std::streamoff kTail = 4096;
    std::ifstream file(*this / name + ".jsonl", std::ios::binary | std::ios::ate);
    const std::streamoff size = std::max<std::streamoff>(file.tellg(), 0);
    file.seekg(std::max<std::streamoff>(size - kTail, 0));
    const std::string text{std::istreambuf_iterator<char>(file), {}}, words = "\"iteration\":";
    const size_t at = text.rfind(words);
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + words.size());
  }
  // The number in "goodput 97.1% of 60.2 s in 7 starts; seconds: init 1.0, ...".
  static double told(const std::string& out, const std::string& words) {
    const size_t line = out.rfind("goodput "), at = out.find(words, line);
    return line == std::string::npos || at == std::string::npos ? -1 : std::atof(out.c_str() + at + words.size());
  }
};

TEST_F(Storm, GoesOnAndKeepsAccountOfItsTime) {
  using Clock = std::chrono::steady_clock;
  const int seconds = number_from("MEGALITH_STORM_SECONDS", 4), every = number_from("MEGALITH_STORM_EVERY", 1);
  const bool stands_by = number_from("MEGALITH_STORM_STANDBY", 0) > 0;
  const int ranks = 2, goodput = number_from("MEGALITH_STORM_GOODPUT", 0);
  std::mt19937 random{std::random_device{}()};
  std::vector<std::string> flags{"--standalone",         "--nproc-per-node", std::to_string(ranks),
                                 "--max-restarts",       "100000",           "--snapshot-steps",
                                 is_long_ ? "20" : "10", "--log-dir",        *this / "logs"};
  if (stands_by) flags.push_back("--standby");
  LaunchRun& run = start(flags, endless("storm", "--log-interval 5 --metrics-file " + *this / "storm.jsonl"));
  const auto begins = [&] { return count_of(run.err(), " completed iteration "); };
  const auto began = Clock::now();
  int kills = 0, furthest = 0;
  for (; Clock::now() - began < std::chrono::seconds(seconds); ++kills) {
    std::this_thread::sleep_until(began + std::chrono::seconds(every * (kills + 1)));
    std::vector<pid_t> now;
    // Three consecutive starts without a new iteration would end the launch.
    const auto is_new = [&] { return newest("storm") > furthest && begins() >= kills; };
    ASSERT_TRUE(run.wait_until([&] { return is_new() && int((now = run.ranks_by_age()).size()) >= ranks; }))
        << run.err();
    now.resize(size_t(ranks));  // standby ranks are younger, so they are dropped
    furthest = newest("storm");
    kill(now[random() % now.size()], SIGKILL);
  }
  ASSERT_TRUE(run.wait_until([&] { return begins() >= kills; })) << run.err();
  kill(run.pid(), SIGTERM);
  const Ended e = run.end();
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(int(e.lines_with("was ended by SIGKILL").size()), kills) << e.err;
  const std::string line = e.out.substr(e.out.rfind("goodput "));
  std::printf("%d kills: %s\n", kills, line.substr(0, line.find('\n')).c_str());
  EXPECT_EQ(int(told(e.out, " s in ")), kills + 1) << line;
  double sum = 0;
  for (const char* state :
       {"init ", "load ", "train ", "data_wait ", "eval ", "save_stall ", "lost ", "restart ", "idle "})
    sum += told(e.out, state);
  EXPECT_NEAR(sum, told(e.out, "% of "), 0.5) << line;
  EXPECT_GE(told(e.out, "goodput "), goodput) << line;
  if (is_long_) {
    std::printf("%s", e.err.c_str());
    return;
  }
  const int last = saved("storm");
  const Ended whole = start({"--standalone", "--nproc-per-node", std::to_string(ranks)},
                            endless("whole", "--exit-interval " + std::to_string(last)))
                          .end();
  ASSERT_EQ(whole.code, 0) << whole.err;
  expect_same_end("whole", "storm", last);
}

}  // namespace
}  // namespace megalith::test
