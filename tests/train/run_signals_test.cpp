#include "train/run_signals.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

// A signal that comes while a run prepares is not lost, and does not end the process.
TEST(EarlySignals, LeaveWordForTheRun) {
  const EarlySignals early;
  raise(SIGUSR1), raise(SIGUSR1), raise(SIGUSR2);
  {
    const RunSignals run(SIGTERM);
    EXPECT_EQ(run.saves(), 2);
    EXPECT_EQ(run.leaving(), SIGUSR2);
    raise(SIGUSR1);
    EXPECT_EQ(run.saves(), 3);
  }
  const RunSignals next(SIGTERM);
  EXPECT_EQ(next.saves(), 0);
  EXPECT_EQ(next.leaving(), 0);
}

TEST(EarlySignals, LeaveWhereThatIsTheirMeaning) {
  const EarlySignals early;
  raise(SIGUSR1);
  const RunSignals run(SIGUSR1);
  EXPECT_EQ(run.saves(), 0);
  EXPECT_EQ(run.leaving(), SIGUSR1);
}

TEST(EarlySignals, MeanNothingOnceTheRunIsOver) {
  const EarlySignals early;
  { const RunSignals run(SIGTERM); }
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

}  // namespace
}  // namespace megalith
