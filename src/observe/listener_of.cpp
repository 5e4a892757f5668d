// Finds the process that listens on a port: first the socket's inode in /proc/net/tcp, then the process that has it
// open.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "observe/endpoint.h"

namespace megalith {

namespace fs = std::filesystem;

namespace {

// "socket:[12345]"; empty: no listener.
std::string socket_at(int port) {
  constexpr const char* kListens = "0A";
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // titles
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      if (state == kListens && local.ends_with(fmt::format(":{:04X}", port))) return fmt::format("socket:[{}]", inode);
    }
  }
  return {};
}

bool has_open(const fs::path& process, const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(it->path(), gone) == socket) return true;
  }
  return false;
}

}  // namespace

i64 listener_of(int port) {
  const std::string socket = socket_at(port);
  if (socket.empty()) return 0;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos && has_open(it->path(), socket))
      return std::stoll(name);
  }
  return 0;
}

}  // namespace megalith
