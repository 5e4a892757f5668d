// The marks of a chart's axis.
#pragma once
#include <string>
#include <vector>

namespace megalith::report {

// From values to places between 0 and 1.
struct AxisScale {
  double low = 0, high = 1;
  bool logarithmic = false;

  double place(double value) const;
};

// Holds all values between `low` and `high`, which are finite.
AxisScale scale_over(double low, double high, bool from_zero);

struct AxisMark {
  double value;
  std::string text;
};
// Round values, some `about` of them. `whole`: no fractions.
std::vector<AxisMark> marks_of(const AxisScale& scale, int about, bool whole = false);

}  // namespace megalith::report
