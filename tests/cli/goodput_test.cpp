// Runs are killed, end normally, and are restarted. The seconds of the goodput ledger must sum to the wall time.
// $MEGALITH_GOODPUT_RUNS: number of starts (5).
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/process_start.h"
#include "goodput/ledger_file.h"
#include "processes.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class Goodput : public Workshop {
 protected:
  std::string line(i64 iterations, const std::string& more) {
    return pretrain(
        fmt::format("--train-iters {} --save-interval 8 --eval-interval 4 --eval-iters 1 --split 90,10,0 "
                    "--most-recent-k 2 --log-interval 1 --save {} --load {} {}",
                    iterations, *this / "ck", *this / "ck", more));
  }
  // Trains 13 iterations. Returns the time at which the process began, by the kernel.
  double began_by_the_kernel() {
    double began = 0;
    RunLimits limits;
    limits.kill = [&] {
      for (const pid_t pid : processes_with(*this / "ck"))
        if (const auto start = process_start(pid); began == 0 && start && *start > 0)
          began = unix_seconds() - process_age(*start);
      return false;
    };
    EXPECT_EQ(megalith(line(100'000, "--exit-interval 13"), limits).exit_code, 0);
    EXPECT_GT(began, 0);
    return began;
  }
  // The file's last change, by the kernel.
  double written() const {
    struct stat file {};
    EXPECT_EQ(stat((*this / "ck/goodput.jsonl").c_str(), &file), 0);
    return double(file.st_mtim.tv_sec) + 1e-9 * double(file.st_mtim.tv_nsec);
  }
  std::vector<LedgerRecord> records() const { return read_ledger(*this / "ck/goodput.jsonl"); }
};

i64 starts_in(const std::vector<LedgerRecord>& records) {
  return std::ranges::count(records, LedgerRecord::Event::start, &LedgerRecord::event);
}

double seconds_of(const LedgerTotal& t, TimeState s) { return t.seconds[size_t(s)]; }

}  // namespace

TEST_F(Goodput, SumsToTheWallTimeOfRunsWithKills) {
  const char* asked = std::getenv("MEGALITH_GOODPUT_RUNS");
  const int starts = std::max(3, asked ? std::atoi(asked) : 5);
  data();
  std::mt19937 random(1);
  const double began = began_by_the_kernel();
  constexpr double kApart = 0.2;
  std::this_thread::sleep_for(std::chrono::duration<double>(kApart));
  for (int start = 1; start + 1 < starts; ++start) {
    RunLimits limits;
    const double lives = double(random() % 700) / 1000;  // seconds from its first step
    limits.kill = [&, born = 0.0]() mutable {
      if (born == 0 && starts_in(records()) == start + 1) born = steady_seconds();
      return born > 0 && steady_seconds() - born > lives;
    };
    EXPECT_EQ(megalith(line(100'000, ""), limits).signal, SIGKILL);
  }
  const Ran last = must(line(100'000, "--exit-interval 7"));
  const double wall = written() - began;

  const LedgerTotal total = sum_ledger(records());
  EXPECT_EQ(total.starts, starts);
  constexpr double kTick = 0.01;                   // resolution of the kernel's process start times
  constexpr double kShare = 0.005, kWrite = 0.02;  // from a reading of the clock to the kernel's time of the write
  EXPECT_NEAR(total.wall(), wall, kShare * wall + kTick + kWrite);
  EXPECT_GE(seconds_of(total, TimeState::idle), kApart - kTick);
  EXPECT_GT(seconds_of(total, TimeState::restart), 0);
  for (const TimeState s : {TimeState::init, TimeState::load, TimeState::train, TimeState::eval, TimeState::save_stall})
    EXPECT_GT(seconds_of(total, s), 0) << kTimeStates[size_t(s)];
  EXPECT_NE(last.out.find("goodput "), std::string::npos) << last.out;
  EXPECT_NE(last.out.find(fmt::format(" in {} starts; seconds: ", starts)), std::string::npos) << last.out;
  std::printf("%s; sum %.3f s, the clock: %.3f s\n", goodput_line(total).c_str(), total.wall(), wall);
}

// The run is killed before its first checkpoint. All its steps are lost, and nothing else.
TEST_F(Goodput, WhatALaterStartMakesAgainIsLost) {
  RunLimits limits;
  limits.kill = [&] {
    const auto now = records();
    return !now.empty() && now.back().iteration >= 1;
  };
  EXPECT_EQ(megalith(line(100'000, "--save-interval 100000"), limits).signal, SIGKILL);
  const LedgerTotal before = sum_ledger(records());
  EXPECT_EQ(seconds_of(before, TimeState::lost), 0);
  const double worked = seconds_of(before, TimeState::train) + seconds_of(before, TimeState::data_wait) +
                        seconds_of(before, TimeState::eval);
  EXPECT_GT(worked, 0);
  must(line(1, ""));
  EXPECT_NEAR(seconds_of(sum_ledger(records()), TimeState::lost), worked,
              1e-3);  // no step has the time before the first step
}

}  // namespace megalith::test
