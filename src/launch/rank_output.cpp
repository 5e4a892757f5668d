#include "launch/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace megalith::launch {
namespace {

constexpr size_t kLongestLine = 1 << 16;

// A full console or disk loses output; it does not stop the run.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(size_t(n));
  }
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

RankOutput::RankOutput(int console_fd, OutputWays ways) : console_fd_(console_fd), ways_(std::move(ways)) {
  if (ways_.file.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(ways_.file).parent_path(), error);
  file_ = Socket(open(ways_.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  check(bool(file_), "--log-dir: cannot write {}: {}", ways_.file, std::strerror(errno));
}

bool RankOutput::read(int fd) {
  char buffer[1 << 16];
  while (fd >= 0) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) return false;
    take(buffer, size_t(n));
  }
  return true;
}

// Writes whole lines, so lines of several ranks do not mix.
void RankOutput::take(const char* data, size_t bytes) {
  if (file_) write_all(file_.fd(), {data, bytes});
  rest_.append(data, bytes);
  for (size_t end; (end = rest_.find('\n')) != std::string::npos || rest_.size() > kLongestLine;) {
    end = std::min(end, rest_.size() - 1);
    say(rest_.substr(0, end + 1));
    rest_.erase(0, end + 1);
  }
}

void RankOutput::say(const std::string& line) {
  if (ways_.to_console) write_all(console_fd_, ways_.prefix + line);
  if (is_blank(line)) return;
  last_line_ = line.substr(0, line.find_last_not_of("\r\n") + 1);
  constexpr size_t kKept = 2000;
  if (last_line_.size() > kKept) last_line_.resize(kKept);
}

void RankOutput::finish() {
  if (!rest_.empty()) say(rest_ + "\n");
  rest_.clear();
}

}  // namespace megalith::launch
