#include "observe/spike_detector.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace megalith {

static double median_of(std::vector<double> values) {
  const size_t n = values.size(), half = n / 2;
  std::ranges::nth_element(values, values.begin() + i64(half));
  const double upper = values[half];
  if (n % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + i64(half)) + upper) / 2;
}

bool SpikeDetector::look(double x) {
  bool is_spike = false;
  if (last_.size() >= kLeast) {
    std::vector<double> values(last_.begin(), last_.end());
    usual_.median = median_of(values);
    for (double& v : values) v = std::abs(v - usual_.median);
    usual_.deviation = median_of(std::move(values));
    is_spike = deviations_ > 0 && x > usual_.median + deviations_ * usual_.deviation && x > 1.5 * usual_.median;
  }
  if (!std::isfinite(x)) return false;
  last_.push_back(x);
  if (last_.size() > kWindow) last_.pop_front();
  return is_spike;
}

}  // namespace megalith
