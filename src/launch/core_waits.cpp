#include "launch/core_waits.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace megalith::launch {

// /proc/PID/task/TID/schedstat: nanoseconds on a core, nanoseconds of waiting for one, number of times.
static std::map<pid_t, u64> waits_of(const std::vector<pid_t>& processes) {
  std::map<pid_t, u64> all;
  for (const pid_t process : processes) {
    std::error_code error;  // a process may end meanwhile
    std::filesystem::directory_iterator it(fmt::format("/proc/{}/task", process), error), end;
    for (; !error && it != end; it.increment(error)) {
      u64 ran = 0, waited = 0;
      if (std::ifstream(it->path() / "schedstat") >> ran >> waited)
        all[pid_t(std::atoi(it->path().filename().c_str()))] = waited;
    }
  }
  return all;
}

bool CoreWaits::are_long(const std::vector<pid_t>& processes, double now) {
  constexpr double kInterval = 0.5, kShare = 0.25, kNanoseconds = 1e9;
  if (seen_at_ >= 0 && now - seen_at_ < kInterval) return are_long_;
  const std::map<pid_t, u64> before = std::exchange(waited_, waits_of(processes));
  const double least = kShare * (now - seen_at_) * kNanoseconds;
  are_long_ = false;
  for (const auto& [thread, waited] : waited_)
    if (const auto it = before.find(thread); seen_at_ >= 0 && it != before.end())
      are_long_ = are_long_ || double(waited - it->second) > least;
  seen_at_ = now;
  return are_long_;
}

}  // namespace megalith::launch
