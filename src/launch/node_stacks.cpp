// What the ranks of a node do when they hang.
#include <poll.h>

#include "base/clock.h"
#include "launch/node_ranks.h"

namespace megalith::launch {

void NodeRanks::collect_stacks() {
  constexpr double kLongest = 0.25;  // the restart waits for it
  const double until = steady_seconds() + kLongest;
  for (Rank& r : running_) r.stacks.ask(r.child.pid);
  for (bool has_all = false; !has_all && steady_seconds() < until;) {
    has_all = true;
    std::vector<pollfd> missing;
    for (Rank& r : running_) {
      hear(r);
      if (!r.stacks.has_all()) missing.push_back({r.child.line.fd(), POLLIN, 0});
    }
    has_all = missing.empty();
    constexpr int kTickMilliseconds = 5;
    if (!has_all) poll(missing.data(), missing.size(), kTickMilliseconds);
  }
  for (Rank& r : running_) r.stacks.read_rest();
}

std::vector<std::string> NodeRanks::whereabouts() const {
  std::vector<std::string> lines;
  SymbolNames names;
  for (const Rank& r : running_) {
    lines.push_back(fmt::format("rank {} (pid {} on {}) hangs{}{}", r.rank, r.child.pid, host_,
                                r.iteration < 0 ? "" : fmt::format(" after iteration {}", r.iteration),
                                r.at.empty() ? "" : fmt::format(" at \"{}\"", r.at)));
    for (const std::string& line : r.stacks.lines(names)) lines.push_back(fmt::format("rank {}: {}", r.rank, line));
  }
  return lines;
}

}  // namespace megalith::launch
