#include "comm/launch_line.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <string_view>

#include "base/parse_count.h"

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

}  // namespace megalith
