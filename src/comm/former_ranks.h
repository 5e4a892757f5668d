// The processes of this host's ranks of the start before, which the system may still be taking down: what they had of a
// GPU is not free until they are gone. `megalith launch` names them.
#pragma once
#include <sys/types.h>

#include <vector>

#include "comm/place.h"

namespace megalith {

class FormerRanks {
 public:
  explicit FormerRanks(const Environment& env);  // MEGALITH_FORMER_PIDS: PID,PID,...

  bool are_there() const;
  void wait() const;  // until they are gone, but no more than a minute

 private:
  std::vector<pid_t> pids_;
};

}  // namespace megalith
