#include "comm/launch_line.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "base/parse_count.h"
#include "comm/stack_signal.h"

namespace megalith {

LaunchLine::LaunchLine(const Environment& env) {
  const char* text = env("MEGALITH_LAUNCH_FD");
  if (const auto fd = text ? parse_count(text) : std::nullopt; fd && *fd < 1 << 20) fd_ = int(*fd);
}

// An agent that is gone, or too busy to read, holds no rank up.
static void tell_agent(int fd, std::string_view text) {
  if (fd >= 0) send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void LaunchLine::joined() const { tell_agent(fd_, "joined"); }
void LaunchLine::did(i64 iteration) const { tell_agent(fd_, fmt::format("did {}", iteration)); }
void LaunchLine::at(u64 words, const std::string& what) const { tell_agent(fd_, fmt::format("at {} {}", words, what)); }

void LaunchLine::answers_stack_signal() const {
  if (is_there()) answer_stack_signal(fd_);
}

void LaunchLine::settling() const { tell_agent(fd_, "settling"); }
void LaunchLine::settled() const { tell_agent(fd_, "settled"); }
void LaunchLine::away(const char* where) const { tell_agent(fd_, fmt::format("away {}", where)); }
void LaunchLine::silent(int rank) const { tell_agent(fd_, fmt::format("silent {}", rank)); }
void LaunchLine::kill(const char* what) const { tell_agent(fd_, fmt::format("kill {}", what)); }
void LaunchLine::ready() const { tell_agent(fd_, "ready"); }

std::optional<std::string> LaunchLine::hear() const {
  char text[4096];
  for (pollfd wait{fd_, POLLIN, 0};;) {
    poll(&wait, 1, -1);
    const ssize_t n = recv(fd_, text, sizeof text, MSG_DONTWAIT);
    if (n > 0) return std::string(text, size_t(n));
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return {};
  }
}

}  // namespace megalith
