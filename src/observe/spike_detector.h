// Detects spikes: values more than a number of median absolute deviations above the recent median, and above 1.5
// times the median.
#pragma once
#include <deque>

#include "base/dtype.h"

namespace megalith {

class SpikeDetector {
 public:
  static constexpr size_t kWindow = 128;  // steps
  static constexpr size_t kLeast = 16;    // values needed before a spike is reported

  // 0 deviations: never a spike.
  explicit SpikeDetector(double deviations) : deviations_(deviations) {}
  // Whether x is a spike. Then adds x, if finite, to the recent values.
  bool look(double x);

  struct Usual {
    double median = 0, deviation = 0;  // median absolute deviation
  };
  Usual usual() const { return usual_; }  // for the last x

 private:
  double deviations_;
  std::deque<double> last_;
  Usual usual_;
};

}  // namespace megalith
