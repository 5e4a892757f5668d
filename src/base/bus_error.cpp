#include "base/bus_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace megalith {
namespace {

// All of this runs in a signal handler: no memory is taken, nothing but system calls is made.

std::uintptr_t take_hex(std::string_view& text) {
  std::uintptr_t value = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value * 16 + std::uintptr_t(digit);
  }
  return value;
}

// Of a line "begin-end perms offset device inode      /path": the path, if it is mapped at the address.
std::string_view path_at(std::string_view line, std::uintptr_t address) {
  const std::uintptr_t begin = take_hex(line);
  if (line.empty() || line.front() != '-') return {};
  line.remove_prefix(1);
  const std::uintptr_t end = take_hex(line);
  const std::size_t path = line.find('/');
  return begin <= address && address < end && path != line.npos ? line.substr(path) : std::string_view();
}

// The same of all lines; the result is in `buffer`.
std::string_view mapped_at(std::uintptr_t address, std::span<char> buffer) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return {};
  std::string_view found;
  for (std::size_t kept = 0; found.empty();) {
    const ssize_t n = ::read(maps, buffer.data() + kept, buffer.size() - kept);
    if (n <= 0) break;
    std::string_view text(buffer.data(), kept + std::size_t(n));
    for (std::size_t end; found.empty() && (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
      found = path_at(text.substr(0, end), address);
    if (!found.empty()) break;
    kept = text.size() < buffer.size() ? text.size() : 0;  // a line that fills the buffer is not ours
    std::memmove(buffer.data(), text.data(), kept);
  }
  ::close(maps);
  return found;
}

void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(std::size_t(n));
  }
}

void handle(int signal, siginfo_t* info, void*) {
  char buffer[8192];  // a line is a path and some 80 bytes
  const std::string_view path = mapped_at(reinterpret_cast<std::uintptr_t>(info->si_addr), buffer);
  if (path.empty()) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // when this returns
    return;
  }
  say("megalith: cannot read ");
  say(path);
  say(": an I/O error, or the file became shorter while it was in use: check the disk and the file\n");
  ::_exit(1);
}

}  // namespace

void tell_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace megalith
