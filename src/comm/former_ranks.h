// The processes of this host's ranks of the start before, which the system may still be taking down: what they had of a
// GPU is not free until they are gone. `megalith launch` names them.
#pragma once
#include <sys/types.h>

#include <functional>
#include <vector>

#include "comm/place.h"

namespace megalith {

class FormerRanks {
 public:
  explicit FormerRanks(const Environment& env);  // MEGALITH_FORMER_PIDS: PID,PID,...

  bool are_there() const;
  // Until they are gone, or what they had is enough already; but no more than a minute.
  void wait(const std::function<bool()>& is_enough = {}) const;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace megalith
