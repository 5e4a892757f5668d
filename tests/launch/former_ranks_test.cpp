// Tests of waiting for former ranks: processes that were killed, while the kernel still frees their resources.
#include "comm/former_ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/process_start.h"
#include "launch/child.h"

namespace megalith::launch {
namespace {

pid_t sleeper() {
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  return pid;
}

// The exit status that waitpid will return later.
std::optional<int> end_within_seconds(pid_t pid) {
  const Child child{.pid = pid, .out = {}, .err = {}, .line = {}};
  for (int i = 0; i < 1000; ++i) {
    if (const auto end = end_of(child)) return end;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

TEST(FormerRanks, AreWaitedForUntilTheyAreGone) {
  EXPECT_FALSE(FormerRanks([](const char*) -> const char* { return nullptr; }).are_there());
  const pid_t pid = sleeper();
  const std::string text = std::to_string(pid);
  const FormerRanks former([&](const char*) { return text.c_str(); });
  kill(pid, SIGKILL);
  EXPECT_EQ(end_within_seconds(pid), SIGKILL);
  EXPECT_TRUE(former.are_there());  // the process is a zombie
  bool is_reaped = false;
  std::thread agent([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_reaped = waitpid(pid, nullptr, 0) == pid;
  });
  former.wait();
  EXPECT_FALSE(former.are_there());
  agent.join();
  EXPECT_TRUE(is_reaped);
}

TEST(FormerRanks, EndByACode) {
  const pid_t pid = fork();
  if (pid == 0) _exit(75);
  const auto status = end_within_seconds(pid);
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 75);
  waitpid(pid, nullptr, 0);
}

// The text of /proc/PID/stat.
std::string stat_text(const char* state, int size, int code) {
  return fmt::format(
      "4711 (a) b) {} 1 4711 4711 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 9 0 300 {} 77 184467 1 1 0 0 0 0 0 0 0 0 0 0 17 1 "
      "0 "
      "0 0 0 0 0 0 0 0 0 0 0 {}\n",
      state, size, code);
}

// The texts are those of the kernel: for a running process, for a zombie, and for a process whose first thread exits
// last.
TEST(FormerRanks, HaveEndedOnceTheirMemoryIsLeft) {
  const auto told = [](const char* state, int size, int code) { return end_in(stat_text(state, size, code)); };
  EXPECT_FALSE(told("R", 1 << 20, 0));
  EXPECT_FALSE(told("R", 1 << 20, 9)) << "it was killed, and has not noticed";
  EXPECT_FALSE(told("T", 1 << 20, 19));
  EXPECT_EQ(told("Z", 0, 9), 9);
  EXPECT_EQ(told("D", 0, 9), 9);
  EXPECT_EQ(told("R", 0, 75 << 8), 75 << 8);
  EXPECT_FALSE(told("D", 0, 0)) << "other threads may go on";
  EXPECT_FALSE(end_in(""));
}

// A rank takes over the save lock of a rank that has ended. The system may still close its devices.
TEST(FormerRanks, HoldNoLockOnceTheirMemoryIsLeft) {
  const auto told = [](const char* state, int size, int code) { return start_in(stat_text(state, size, code)); };
  EXPECT_EQ(told("R", 1 << 20, 0), 300);
  EXPECT_EQ(told("D", 1 << 20, 9), 300) << "it was killed, and has not noticed";
  EXPECT_EQ(told("D", 0, 0), 300) << "other threads may go on";
  EXPECT_EQ(told("D", 0, 9), 0);
  EXPECT_EQ(told("R", 0, 1 << 8), 0);
  EXPECT_EQ(told("Z", 0, 0), 0);
  EXPECT_EQ(start_in(""), 0);
}

// Only the first thread has exited. The process still runs.
TEST(FormerRanks, AreNotThoseWhoseOtherThreadsGoOn) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(20)); }).detach();
    syscall(SYS_exit, 0);  // ends only this thread
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(end_of({.pid = pid, .out = {}, .err = {}, .line = {}}));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace megalith::launch
