#include "base/process_start.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace megalith {

static std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

static bool is_there(i64 pid) {
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) return false;  // kill() would treat it as many processes
  return ::kill(pid_t(pid), 0) == 0 || errno == EPERM;
}

std::optional<i64> process_start(i64 pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = stat.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return is_there(pid) ? std::nullopt : std::optional<i64>(0);
  std::istringstream in(stat.substr(end + 1));
  std::string state, skipped;
  in >> state;
  constexpr int kBetween = 18;  // fields between the state, the 3rd, and the start, the 22nd
  for (int i = 0; i < kBetween; ++i) in >> skipped;
  i64 ticks = 0;
  in >> ticks;
  return state == "Z" || state == "X" ? 0 : ticks;
}

double process_age(i64 ticks) {
  return std::strtod(text_of("/proc/uptime").c_str(), nullptr) - double(ticks) / double(::sysconf(_SC_CLK_TCK));
}

}  // namespace megalith
