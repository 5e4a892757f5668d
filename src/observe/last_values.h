// The last values of a quantity, with their median and deviation.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class LastValues {
 public:
  explicit LastValues(size_t most = 100) : most_(most) {}

  void add(double value) {
    if (values_.size() < most_)
      values_.push_back(value);
    else
      values_[next_] = value;
    next_ = (next_ + 1) % most_;
  }
  size_t size() const { return values_.size(); }
  // The upper median; 0 if there are no values.
  double median() const {
    if (values_.empty()) return 0;
    std::vector<double> copy = values_;
    const auto middle = copy.begin() + i64(copy.size()) / 2;
    std::ranges::nth_element(copy, middle);
    return *middle;
  }
  // Sample standard deviation; 0 for fewer than two values.
  double deviation() const {
    if (values_.size() < 2) return 0;
    double mean = 0, squares = 0;
    for (const double v : values_) mean += v / double(values_.size());
    for (const double v : values_) squares += (v - mean) * (v - mean);
    return std::sqrt(squares / double(values_.size() - 1));
  }

 private:
  size_t most_, next_ = 0;
  std::vector<double> values_;
};

}  // namespace megalith
