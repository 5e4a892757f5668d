// Standby ranks: the next generation, started once the running ranks train. They prepare everything except the state,
// and then wait for the order to take over.
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "launch/controller_side.h"
#include "launch/node_ranks.h"

namespace megalith::launch {

bool NodeRanks::is_settling() const {
  return std::ranges::any_of(running_, [](const Rank& r) { return r.is_settling; }) ||
         std::ranges::any_of(standby_, [](const Rank& r) { return !r.is_ready; });
}

// Standby ranks start after the first iteration, when the running ranks have pinned their memory: both at once would
// delay steps for seconds. If a standby rank fails, it is not restarted until the next generation.
void NodeRanks::keep_standby() {
  if (!wants_standby_ || kill_all_) return;
  for (Rank& r : standby_) hear(r);
  const auto gone = std::ranges::find_if(standby_, [](Rank& r) {
    int status = 0;
    return waitpid(r.child.pid, &status, WNOHANG) == r.child.pid;
  });
  if (gone != standby_.end()) {
    read(*gone);
    gone->err.finish();
    const std::string why = gone->err.last_line();
    say_line(fmt::format("standby rank {} exited: the next restart starts new processes{}{}", gone->rank,
                         why.empty() ? "" : ": ", why));
    standby_.erase(gone);
    end_standby();
    has_standby_failed_ = true;
  }
  const bool are_ready = !standby_.empty() && std::ranges::all_of(standby_, [](const Rank& r) { return r.is_ready; });
  if (are_ready && !std::exchange(has_told_standby_, true))
    say_line(fmt::format("{} standby ranks are ready", standby_.size()));
  const auto trains = [](const Rank& r) { return r.iteration >= 0 && !r.is_settling; };
  if (!standby_.empty() || has_standby_failed_ || running_.empty() || !std::ranges::all_of(running_, trains)) return;
  has_told_standby_ = false;
  Order next = order_;
  ++next.generation;
  standby_port_ = hold_port(is_loopback(order_.master_address) ? order_.master_address : "");
  next.master_port = standby_port_.port;
  for (int r = 0; r < next.ranks; ++r) standby_.push_back(start_rank(next, r, true));
}

// Standby ranks have their own port: the order's port is for ranks that start now.
bool NodeRanks::take_over(const Order& order) {
  const auto can = [&](Rank& r) {
    hear(r);
    return r.is_ready && r.generation == order.generation && kill(r.child.pid, 0) == 0;
  };
  if (int(standby_.size()) != order.ranks || !std::ranges::all_of(standby_, can)) {
    end_standby();
    return false;
  }
  port_ = std::move(standby_port_);
  const std::string word = fmt::format("go{}", fmt::join(leaving_, ","));
  for (Rank& r : standby_) {
    send(r.child.line.fd(), word.data(), word.size(), MSG_NOSIGNAL);
    running_.push_back({.rank = r.rank,
                        .local_rank = r.local_rank,
                        .generation = r.generation,
                        .child = std::move(r.child),
                        .out = RankOutput(STDOUT_FILENO, ways(STDOUT_FILENO, order, r.rank)),
                        .err = RankOutput(STDERR_FILENO, ways(STDERR_FILENO, order, r.rank)),
                        .has_joined = r.has_joined,
                        .has_stood_by = true});
  }
  standby_.clear();
  return true;
}

void NodeRanks::keep_no_standby() {
  wants_standby_ = false;
  end_standby();
}

void NodeRanks::end_standby() {
  for (Rank& r : standby_) {
    kill_all_of(r.child);
    leaving_.push_back(r.child.pid);
  }
  standby_.clear();
}

}  // namespace megalith::launch
