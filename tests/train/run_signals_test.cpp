#include "train/run_signals.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

// A signal during the preparation of a run must not be lost, and must not end the process.
TEST(EarlySignals, LeaveWordForTheRun) {
  const EarlySignals early;
  raise(SIGUSR1), raise(SIGUSR1), raise(SIGUSR2);
  {
    const RunSignals run(SIGTERM, false);
    EXPECT_EQ(run.saves(), 2);
    EXPECT_EQ(run.leaving(), SIGUSR2);
    raise(SIGUSR1);
    EXPECT_EQ(run.saves(), 3);
  }
  const RunSignals next(SIGTERM, false);
  EXPECT_EQ(next.saves(), 0);
  EXPECT_EQ(next.leaving(), 0);
}

TEST(EarlySignals, LeaveWhereThatIsTheirMeaning) {
  const EarlySignals early;
  raise(SIGUSR1);
  const RunSignals run(SIGUSR1, true);
  EXPECT_EQ(run.saves(), 0);
  EXPECT_EQ(run.leaving(), SIGUSR1);
}

TEST(EarlySignals, MeanNothingOnceTheRunIsOver) {
  const EarlySignals early;
  { const RunSignals run(SIGTERM, false); }
  raise(SIGUSR1), raise(SIGUSR2);
}

TEST(EarlySignals, LeaveAsTheyCame) {
  struct sigaction before {
  }, after{};
  sigaction(SIGUSR1, nullptr, &before);
  { const EarlySignals early; }
  sigaction(SIGUSR1, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

// A script's background job ignores signals, and so does a job under nohup.
TEST(RunSignals, that_were_ignored_stay_so_unless_the_user_names_them) {
  struct sigaction before {
  }, ignore{}, after{};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) {
    sigaction(signal, &ignore, &before);
    {
      const EarlySignals early;
      const RunSignals run(SIGTERM, false);
      raise(signal);
      EXPECT_EQ(run.leaving(), 0);
      EXPECT_EQ(run.ignored(), signal == SIGHUP ? std::vector<int>{} : std::vector{signal});
    }
    {
      const EarlySignals early;
      const RunSignals run(signal, true);
      raise(signal);
      EXPECT_EQ(run.leaving(), signal);
      EXPECT_EQ(run.ignored(), std::vector<int>{});
    }
    sigaction(signal, &before, &after);
    EXPECT_EQ(after.sa_handler, SIG_IGN) << signal;
  }
}

}  // namespace
}  // namespace megalith
