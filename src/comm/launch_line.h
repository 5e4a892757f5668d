// Messages of a rank to the agent of `megalith launch` that started it. Without an agent nothing is sent.
#pragma once
#include <optional>
#include <string>

#include "base/dtype.h"
#include "comm/place.h"

namespace megalith {

class LaunchLine {
 public:
  explicit LaunchLine(const Environment& env);  // MEGALITH_LAUNCH_FD is the socket to the agent

  bool is_there() const { return fd_ >= 0; }
  void joined() const;  // from now on the watch ends this rank if another one is gone
  void did(i64 iteration) const;
  // Its current activity. `words` increases with each report, also of the same activity.
  void at(u64 words, const std::string& what) const;
  void answers_stack_signal() const;  // from now on (comm/stack_signal.h)
  // Pinning of memory starts, which may delay steps; and it has ended.
  void settling() const;
  void settled() const;
  void away(const char* where) const;  // "saving", "evaluating", or "no": it trains again
  void silent(int rank) const;         // the agents print the stacks of all ranks, and kill them
  void kill(const char* what) const;   // for fault injection: the agent kills itself, or the controller
  void ready() const;                  // for a standby rank: it is ready to take over
  // Waits for the agent's next message. Empty if the agent has exited.
  std::optional<std::string> hear() const;

 private:
  int fd_ = -1;
};

}  // namespace megalith
