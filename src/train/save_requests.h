// Decides which counts of SIGUSR1, one of each rank, are new requests to save.
#pragma once
#include <algorithm>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class SaveRequests {
 public:
  // Called at each exchange. `told`: the number of requests that each rank has received; `minutes`: from one clock
  // for all ranks. A signal to all ranks reaches each at another time. So ranks that reach the others' count within
  // kSame minutes, or by the next exchange, make no new request.
  bool anew(const std::vector<i64>& told, double minutes) {
    told_.resize(told.size());
    ++looks_;
    if (told == told_) return false;
    const bool more = std::ranges::max(told) > std::ranges::max(told_);
    const bool late = minutes - since_ > kSame && looks_ > 1;
    told_ = told;
    if (more || late) since_ = minutes, looks_ = 0;
    return more || late;
  }

 private:
  static constexpr double kSame = 5.0 / 60;
  std::vector<i64> told_;
  double since_ = 0;
  i64 looks_ = 0;  // since the last request
};

}  // namespace megalith
