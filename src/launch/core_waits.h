// Whether processes wait for a core: then they are slow, but do not hang.
#pragma once
#include <sys/types.h>

#include <map>
#include <vector>

#include "base/dtype.h"

namespace megalith::launch {

class CoreWaits {
 public:
  // Whether a thread of these processes has waited for a core for much of the time since an earlier call. It looks
  // twice a second; between two looks the last answer holds.
  bool are_long(const std::vector<pid_t>& processes, double now);
  void forget() { seen_at_ = -1, are_long_ = false, waited_.clear(); }

 private:
  std::map<pid_t, u64> waited_;  // nanoseconds of each thread, in all
  double seen_at_ = -1;
  bool are_long_ = false;
};

}  // namespace megalith::launch
