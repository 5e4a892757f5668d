#include "base/process_start.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

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

constexpr std::size_t kStart = 19, kSize = 20;  // places of the 22nd and the 23rd word; the state is the 3rd

// The words of "PID (NAME) STATE ... EXIT_CODE" from the state on, or none. A name may have spaces and parentheses.
static std::vector<std::string> words_from_state(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream in(stat.substr(name_end + 1));
  std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  return words.size() <= kSize ? std::vector<std::string>() : words;
}

// The first thread may be the last one to exit. Then the size of the memory is 0 while the thread closes the devices.
// This takes seconds. Then the thread becomes a zombie.
std::optional<int> end_in(const std::string& stat) {
  const std::vector<std::string> words = words_from_state(stat);
  if (words.empty() || (words[0] != "Z" && words[kSize] != "0")) return {};
  const int status = std::atoi(words.back().c_str());
  return status == 0 ? std::nullopt : std::optional(status);
}

// A process that has ended but still closes its devices has no start.
i64 start_in(const std::string& stat) {
  const std::vector<std::string> words = words_from_state(stat);
  const bool is_over = words.empty() || words[0] == "Z" || words[0] == "X" || end_in(stat);
  return is_over ? 0 : std::atoll(words[kStart].c_str());
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
