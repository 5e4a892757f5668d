// The learned time of a hang, and processes that wait for a core.
#include "launch/hang_limit.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/awake_clock.h"
#include "launch/core_waits.h"

namespace megalith::launch {
namespace {

TEST(HangLimit, IsFiveTimesTheLongestGapOfTheLastSteps) {
  HangLimit h;
  h.begin(100);
  EXPECT_FALSE(h.seconds()) << "the time of a first start is unknown";
  double now = 103;
  h.progressed(true, Phase::training, now);
  EXPECT_FALSE(h.seconds()) << "a gap behind a step is needed";
  const auto steps = [&](int n, double seconds) {
    for (int i = 0; i < n; ++i) h.progressed(true, Phase::training, now += seconds);
  };
  steps(3, 0.1);
  EXPECT_EQ(h.seconds(), 3.0) << "a restart takes as long as the start";
  h.progressed(false, Phase::training, now += 3);  // within a step
  EXPECT_EQ(h.since(), now);
  steps(1, 0.1);
  EXPECT_EQ(h.seconds(), 15.0);
  steps(31, 0.1);
  EXPECT_EQ(h.seconds(), 15.0);
  steps(1, 0.1);
  EXPECT_EQ(h.seconds(), 3.0) << "32 steps ago";
  h.begin(now);
  EXPECT_EQ(h.seconds(), 15.0) << "five times the first start";
  h.progressed(true, Phase::training, now += 1);
  EXPECT_EQ(h.seconds(), 2.0) << "known from former generations";
}

// A start that loads from a slow disk must not end the launch after three trials.
TEST(HangLimit, IsNoneForAStartAfterOneThatWasTooLong) {
  HangLimit h;
  h.begin(0);
  for (int i = 1; i <= 3; ++i) h.progressed(true, Phase::training, i);
  h.exceeded();  // a hang after a step says nothing about starts
  h.begin(10);
  EXPECT_EQ(h.seconds(), 10.0);
  h.exceeded();
  h.begin(21);
  EXPECT_FALSE(h.seconds());
  h.progressed(true, Phase::training, 61);
  EXPECT_TRUE(h.seconds()) << "a gap of steps";
  h.begin(70);
  EXPECT_EQ(h.seconds(), 200.0) << "five times the long start";
}

TEST(HangLimit, LearnsSavesAndEvaluationsApart) {
  HangLimit h;
  h.begin(0);
  double now = 0;
  for (int i = 0; i < 4; ++i) h.progressed(true, Phase::training, now += 0.1);
  for (const Phase apart : {Phase::saving, Phase::evaluating}) {
    h.progressed(false, apart, now += 0.1);
    EXPECT_FALSE(h.seconds()) << "the first one may last";
    h.progressed(false, Phase::training, now += 7);
    EXPECT_EQ(h.seconds(), 2.0);
    h.progressed(false, apart, now += 0.1);
    EXPECT_EQ(h.seconds(), 35.0);
    h.progressed(false, Phase::training, now += 0.1);
  }
}

TEST(AwakeClock, StandsWhileTheProcessIsStopped) {
  AwakeClock clock;
  EXPECT_EQ(clock.at(1000), 0);
  EXPECT_EQ(clock.at(1000.5), 0.5);
  EXPECT_EQ(clock.at(1000.75), 0.75);
  EXPECT_EQ(clock.at(1060), 0.75);
  EXPECT_EQ(clock.at(1060.25), 1.0);
}

// Two busy processes on one core wait for half of the time. A process that sleeps does not.
TEST(CoreWaits, AreLongWhereProcessesShareACore) {
  const auto start = [](bool is_busy) {
    const pid_t child = fork();
    if (child != 0) return child;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (volatile int i = 0;; i = i + 1)
      if (!is_busy) pause();
  };
  const std::vector<pid_t> busy{start(true), start(true)}, asleep{start(false)};
  CoreWaits of_busy, of_asleep;
  EXPECT_FALSE(of_busy.are_long(busy, 0)) << "nothing is known yet";
  EXPECT_FALSE(of_asleep.are_long(asleep, 0));
  usleep(1000000);
  EXPECT_TRUE(of_busy.are_long(busy, 1));
  EXPECT_TRUE(of_busy.are_long(busy, 1.1)) << "the last answer";
  EXPECT_FALSE(of_asleep.are_long(asleep, 1));
  of_busy.forget();
  EXPECT_FALSE(of_busy.are_long(busy, 2));
  for (const pid_t p : {busy[0], busy[1], asleep[0]}) kill(p, SIGKILL), waitpid(p, nullptr, 0);
}

}  // namespace
}  // namespace megalith::launch
