// What each rank reports about itself when it joins a run.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct Member {
  int rank = 0;
  std::string host;
  i64 pid = 0;
  std::string network, processes;  // equal where loopback, and process numbers, mean the same

  std::string text() const;
  static Member from_text(const std::string& text);
  static Member self(int rank);
};

// "rank 3 (pid 4711 on node-a)"
std::string name_of(const Member& m);

// Whether the rank's process is on this host and is not stopped. If such a rank is silent, its threads wait for a core.
bool runs_near(const Member& m, const Member& self);

// Ends a stopped process that would stay forever, if it is on this host and can be reached.
void kill_if_near(const Member& culprit, const Member& self);

}  // namespace megalith
