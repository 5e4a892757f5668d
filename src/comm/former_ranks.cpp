#include "comm/former_ranks.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <thread>

#include "base/parse_count.h"
#include "comm/patience.h"

namespace megalith {

FormerRanks::FormerRanks(const Environment& env) {
  const char* text = env("MEGALITH_FORMER_PIDS");
  std::istringstream in(text ? text : "");
  for (std::string word; std::getline(in, word, ',');)
    if (const auto pid = parse_count(word); pid && *pid > 0) pids_.push_back(pid_t(*pid));
}

bool FormerRanks::are_there() const {
  return std::ranges::any_of(pids_, [](pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; });
}

// `is_enough` may call the driver, which has one lock for this and for the end of those processes: so it is seldom
// called.
void FormerRanks::wait(const std::function<bool()>& is_enough) const {
  constexpr double kLongest = 60;
  constexpr std::chrono::milliseconds kApart(10);
  for (const Patience patience(kLongest); are_there() && !(is_enough && is_enough()) && !patience.is_over();)
    std::this_thread::sleep_for(kApart);
}

}  // namespace megalith
