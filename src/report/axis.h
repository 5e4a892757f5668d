// The axis of a chart, with its ticks.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::report {

// Maps values to positions between 0 and 1.
struct AxisScale {
  double low = 0, high = 1;
  bool logarithmic = false;

  double place(double value) const;
};

// An axis that contains all values between `low` and `high`, which are finite. `may_be_logarithmic`: it is, if both are
// above 0 and differ by more than a factor of 100.
AxisScale scale_over(double low, double high, bool from_zero, bool may_be_logarithmic);

struct AxisMark {
  double value;
  std::string text;
};
// About `about` round values. `whole`: integers only.
std::vector<AxisMark> marks_of(const AxisScale& scale, int about, bool whole = false);

// Widths of drawings in their own units. Letters have a fixed size in these units.
constexpr double kWideDrawing = 980, kNarrowDrawing = 480;
// A drawing as wide as the page, for wide and for narrow screens. The page's style shows one of them.
std::string for_both_screens(const std::function<std::string(double width)>& svg);

// Dashed vertical lines from `top` to `bottom` at the positions `x`, in ascending order.
std::string resume_lines(const std::vector<double>& x, double top, double bottom);

// The name of the axis of iterations, to the left of its first number.
std::string iteration_label(double left, double y);

// Texts below a chart: the name of the axis, the first iteration at `left`, the middle one, and the last one at
// `right`.
struct ThreeIterations {
  i64 first = 0, middle = 0, last = 0;
};
std::string iteration_texts(const ThreeIterations& at, double left, double right, double y);

}  // namespace megalith::report
