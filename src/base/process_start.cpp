#include "base/process_start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace megalith {

static std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

i64 process_start(i64 pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = stat.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return 0;
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
