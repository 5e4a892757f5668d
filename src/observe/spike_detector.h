// Detects values far above the recent ones: above their median by so many median absolute deviations, and above 1.5
// times the median.
#pragma once
#include <deque>

#include "base/dtype.h"

namespace megalith {

class SpikeDetector {
 public:
  static constexpr size_t kWindow = 128;  // steps
  static constexpr size_t kLeast = 16;    // values needed before a spike is reported

  // 0 deviations: nothing is a spike.
  explicit SpikeDetector(double deviations) : deviations_(deviations) {}
  // Whether x is a spike; a finite x is then one of the last steps' values.
  bool look(double x);

  struct Usual {
    double median = 0, deviation = 0;  // median absolute deviation
  };
  Usual usual() const { return usual_; }  // as the last x was held against

 private:
  double deviations_;
  std::deque<double> last_;
  Usual usual_;
};

}  // namespace megalith
