// What a rank tells the agent of `megalith launch` that started it, a message each. Nothing where there is no agent.
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
  // What it is at; `words` rises each time that it says so, also of the same thing.
  void at(u64 words, const std::string& what) const;
  // That it takes memory beside its steps, which may hold them up; and that it has all.
  void settling() const;
  void settled() const;
  void ready() const;  // of a rank that stands by: nothing is left to do before it takes over
  // What the agent says next, waited for. Nothing where it is gone.
  std::optional<std::string> hear() const;

 private:
  int fd_ = -1;
};

}  // namespace megalith
