#include "base/process_start.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

// "PID (NAME) STATE ... EXIT_CODE". The 21st word from STATE on is the size of the memory. If the first thread is the
// last one to exit, the size is 0 while the thread closes the devices. This takes seconds. Then the thread becomes a
// zombie.
std::optional<int> end_in(const std::string& stat) {
  constexpr int kSize = 20;
  const std::size_t name_end = stat.rfind(") "), last = stat.find_last_of(' ');
  if (name_end == std::string::npos) return {};
  std::istringstream words(stat.substr(name_end + 2));
  std::string state, word;
  words >> state;
  for (int i = 0; i < kSize; ++i) words >> word;
  if (state != "Z" && word != "0") return {};
  const int status = std::atoi(stat.c_str() + last + 1);
  return status == 0 ? std::nullopt : std::optional(status);
}

// A process that has ended but still closes its devices has no start.
i64 start_in(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream in(stat.substr(name_end + 1));
  std::string state, skipped;
  in >> state;
  constexpr int kBetween = 18;  // fields between the state, the 3rd, and the start, the 22nd
  for (int i = 0; i < kBetween; ++i) in >> skipped;
  i64 ticks = 0;
  in >> ticks;
  return state == "Z" || state == "X" || end_in(stat) ? 0 : ticks;
}

std::optional<i64> process_start(i64 pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  if (stat.empty() && is_there(pid)) return std::nullopt;
  return start_in(stat);
}

double process_age(i64 ticks) {
  return std::strtod(text_of("/proc/uptime").c_str(), nullptr) - double(ticks) / double(::sysconf(_SC_CLK_TCK));
}

}  // namespace megalith
