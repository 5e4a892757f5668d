// Tests of signals that a user or a scheduler sends to a training run: save, exit, exit and requeue.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "processes.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Signals : public Workshop {
 protected:
  std::string run(const std::string& more) {
    return pretrain("--lr-decay-iters 9 --log-interval 1 --save-interval 1000000 --train-iters 20000 --save " +
                    *this / "ck" + " --load " + *this / "ck" + " --metrics-file " + *this / "m.jsonl " + more);
  }
  // Runs the command, and sends signals after three steps. It sends each signal when the previous one has caused a
  // save, or after `patience`.
  Ran tell(const std::string& line, std::vector<int> signals, int ranks = 1, std::size_t to_rank = 0,
           std::chrono::milliseconds patience = std::chrono::minutes(1)) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point last = Clock::now() - patience;
    RunLimits limits;
    limits.ranks = ranks;
    const i64 before = steps();
    std::size_t saves = saved().size();
    limits.kill = [&] {
      if (signals.empty() || steps() < before + 3) return false;
      if (saved().size() == saves && Clock::now() - last < patience) return false;
      const std::vector<pid_t> pids = processes_with(*this / "");
      if (pids.size() != std::size_t(ranks)) return false;
      steps_when_told_ = steps(), saves = saved().size(), last = Clock::now();
      kill(pids[to_rank], signals.front());
      signals.erase(signals.begin());
      return false;
    };
    return megalith(line, limits);
  }
  i64 steps() const { return std::ranges::count(slurp(*this / "m.jsonl"), '\n'); }
  std::vector<i64> saved() const {
    std::vector<i64> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(*this / "ck", error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("iter_") && name.find('.') == std::string::npos) out.push_back(std::stoll(name.substr(5)));
    }
    std::ranges::sort(out);
    return out;
  }
  void expect_one_saved() const {
    EXPECT_EQ(saved(), std::vector<i64>{steps()});
    EXPECT_FALSE(fs::exists(*this / "ck/megalith.lock"));
  }

  i64 steps_when_told_ = 0;
};

TEST_F(Signals, TermSavesAndLeavesWithinOneStep) {
  const Ran ran = tell(run("--global-batch-size 1000 --train-iters 500"), {SIGTERM});  // steps of more than 50 ms
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("exiting program after receiving SIGTERM."), std::string::npos) << ran.out;
  EXPECT_LE(steps(), steps_when_told_ + 2);  // one step in progress, and one whose line was not yet written
  expect_one_saved();
}

TEST_F(Signals, User1SavesAndGoesOn) {
  const Ran ran = tell(run("--global-batch-size 50 --train-iters 5000"), {SIGUSR1, SIGUSR1, SIGTERM});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(saved().size(), 3u);
  EXPECT_EQ(saved().back(), steps());
}

TEST_F(Signals, User2LeavesWithTheCodeToRequeue) {
  for (const char* named : {"", "--exit-signal SIGUSR2"}) {
    fs::remove_all(*this / "ck"), fs::remove(*this / "m.jsonl");
    const Ran ran = tell(run(named), {SIGUSR2});
    EXPECT_EQ(ran.exit_code, 85) << named << ran.err;
    expect_one_saved();
  }
}

// A signal also works before the first step, because a scheduler does not know about steps.
TEST_F(Signals, User2LeavesWithTheCodeToRequeueFromTheStart) {
  RunLimits limits;
  bool is_told = false;
  limits.kill = [&] {
    if (is_told || !fs::exists(*this / "ck/megalith.lock")) return false;
    const std::vector<pid_t> pids = processes_with(*this / "");
    if (pids.size() == 1) is_told = kill(pids[0], SIGUSR1) == 0 && kill(pids[0], SIGUSR2) == 0;
    return false;
  };
  const Ran ran = megalith(run(""), limits);
  EXPECT_EQ(ran.exit_code, 85) << ran.signal << ran.err;
  EXPECT_FALSE(fs::exists(*this / "ck/megalith.lock"));
}

TEST_F(Signals, InterruptSavesAndLeaves) {
  const Ran ran = tell(run(""), {SIGINT});
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  expect_one_saved();
}

TEST_F(Signals, SecondInterruptEndsAtOnce) {
  const Ran ran = tell(run("--train-iters 9 --eval-interval 3 --eval-iters 30000"), {SIGINT, SIGINT}, 1, 0,
                       std::chrono::milliseconds(200));
  EXPECT_EQ(ran.signal, SIGINT) << ran.err;
  EXPECT_EQ(saved(), std::vector<i64>{});
  const Ran after = tell(run("--train-iters 4"), {});  // the lock of the directory is free
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_NE(after.err.find("taking over"), std::string::npos) << after.err;
}

TEST_F(Signals, ExitSignalLeavesLikeTerm) {
  const Ran ran = tell(run("--exit-signal-handler --exit-signal SIGUSR1"), {SIGUSR1});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  expect_one_saved();
}

// A script ignores signals with `trap ''`.
TEST_F(Signals, IgnoredOnesActOnlyIfTheyAreNamed) {
  const auto before = signal(SIGUSR2, SIG_IGN);
  const Ran named = tell(run("--exit-signal SIGUSR2"), {SIGUSR2});
  const Ran ignored = tell(run(""), {SIGUSR2, SIGTERM}, 1, 0, std::chrono::milliseconds(200));
  signal(SIGUSR2, before);
  EXPECT_NE(named.out.find("exiting program after receiving SIGUSR2."), std::string::npos) << named.out;
  EXPECT_EQ(named.out.find("stays ignored"), std::string::npos) << named.out;
  EXPECT_NE(ignored.out.find("exiting program after receiving SIGTERM."), std::string::npos) << ignored.out;
  EXPECT_NE(ignored.out.find("  SIGUSR2 stays ignored, as when the program was started"), std::string::npos);
}

TEST_F(Signals, WithoutSaveTheCodeSaysThatStepsAreLost) {
  const std::string line =
      pretrain("--train-iters 20000 --lr-decay-iters 9 --log-interval 1 --metrics-file " + *this / "m.jsonl");
  EXPECT_EQ(tell(line, {SIGTERM}).exit_code, 128 + SIGTERM);
}

// Results after a signal equal those without it. Steps take some milliseconds, so many remain when the signals come.
TEST_F(Signals, LoseNothing) {
  const std::string same = "--hidden-dropout 0.1 --train-iters 600 --global-batch-size 20 ";
  must(pretrain("--lr-decay-iters 9 --log-interval 1 --metrics-file " + *this / "whole.jsonl " + same));
  const std::string line = run(same);
  for (int i = 0; i < 2; ++i) {
    const Ran ran = tell(line, {SIGUSR1, SIGTERM});
    EXPECT_EQ(ran.exit_code, 0) << "signal " << ran.signal << " at step " << steps() << ": " << ran.err;
  }
  must(line);
  EXPECT_EQ(digits(*this / "m.jsonl"), digits(*this / "whole.jsonl"));
}

// A signal to one rank affects all ranks, after the same step.
TEST_F(Signals, ToOneRankActOnAll) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const std::string line = run("--global-batch-size 8 --tensor-model-parallel-size 2 --use-distributed-optimizer ");
  const Ran ran = tell(line, {SIGUSR1, SIGUSR2}, 4, 2);
  EXPECT_EQ(ran.exit_code, 85) << ran.err;
  EXPECT_EQ(saved().size(), 2u) << ran.err;
  EXPECT_EQ(saved().back(), steps());
  const Ran second = tell(line, {SIGTERM}, 4, 3);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("[ t 1/2, p 1/1 ] at iteration "), std::string::npos) << second.out;
  const Ran alone = must(run("--global-batch-size 8 --train-iters 5 --override-opt-param-scheduler"));
  EXPECT_NE(alone.out.find("[ t 1/1, p 1/1 ] at iteration "), std::string::npos) << alone.out;
  EXPECT_NE(alone.out.find("was saved under tp 2, pp 1, cp 1, dp 2"), std::string::npos) << alone.out;
}

// A second job with the same directory prints a message that names the first job.
TEST_F(Signals, TheOwnerOfTheDirectoryIsTold) {
  Ran second;
  RunLimits limits;
  limits.kill = [&] {
    if (steps() < 3) return false;
    if (second.err.empty()) second = megalith(run(""));
    return true;
  };
  const std::string first = run("");
  megalith(first, limits);
  expect_refused(second, "is saving there: wait for it, end it, or choose another directory");
}

// A second job has another --save, but the same directory of non-persistent checkpoints. It prints the message too,
// because only the latest checkpoint is kept there.
TEST_F(Signals, TheOwnerOfTheCopiesIsTold) {
  const std::pair<std::string, std::string> kinds[] = {{"global", "copies"}, {"local", "copies/rank_00000"}};
  for (const auto& [kind, place] : kinds) {
    const std::string flag = fmt::format("--non-persistent-{}-ckpt-dir {}", kind, *this / "");
    const std::string copies =
        fmt::format("--non-persistent-save-interval 1000000 --non-persistent-ckpt-type {} {}copies", kind, flag);
    fs::remove(*this / "m.jsonl");
    Ran second;
    RunLimits limits;
    limits.kill = [&] {
      if (steps() < 3) return false;
      if (second.err.empty())
        second =
            megalith(pretrain(fmt::format("--save {} --save-interval 9 --train-iters 3 {}", *this / "ck2", copies)));
      return true;
    };
    megalith(run(copies), limits);
    expect_refused(second, flag + place + ": the job with pid ");
    fs::remove_all(*this / "ck2");
  }
}

}  // namespace
}  // namespace megalith::test
