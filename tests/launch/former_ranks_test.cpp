// Ranks that have exited while the system still tears them down.
#include "comm/former_ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

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

// The status that waitpid will return later.
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
  EXPECT_TRUE(former.are_there());  // nobody has waited for it
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

// Only its first thread has exited: the process still runs.
TEST(FormerRanks, AreNotThoseWhoseOtherThreadsGoOn) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(20)); }).detach();
    syscall(SYS_exit, 0);  // of this thread only
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(end_of({.pid = pid, .out = {}, .err = {}, .line = {}}));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace megalith::launch
