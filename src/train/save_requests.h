// Which of the ranks' counts of "save" (SIGUSR1) are new requests.
#pragma once
#include <algorithm>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class SaveRequests {
 public:
  // At each look. `told`: how often each rank was told so far; `minutes`: by one clock for all. What is sent to all
  // ranks reaches each in its own time: those that catch up with the others within a while, or by the next look, were
  // told the same.
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
