// Tests of the messages that a run sends to the agent of `megalith launch`.
#include "observe/sinks/launch_progress.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "comm/socket.h"

namespace megalith {
namespace {

std::string hear(const Socket& line) {
  char text[64];
  const ssize_t n = recv(line.fd(), text, sizeof text, MSG_DONTWAIT);
  return n < 0 ? "" : std::string(text, size_t(n));
}

// The end of a run may take long and is not a hang. So the run sends "settling", and the agent waits longer.
TEST(LaunchProgress, TellsIterationsAndTheEnd) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  const Socket agent(fds[0]), rank(fds[1]);
  const std::string fd = std::to_string(rank.fd());
  LaunchProgress progress(LaunchLine([&](const char*) { return fd.c_str(); }));
  Record record;
  record.iteration = 7;
  progress.take(record);
  EXPECT_EQ(hear(agent), "did 7");
  EXPECT_EQ(hear(agent), "");
  progress.finish();
  EXPECT_EQ(hear(agent), "settling");
}

}  // namespace
}  // namespace megalith
