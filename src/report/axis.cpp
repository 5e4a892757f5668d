#include "report/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"

namespace megalith::report {

namespace {

// The smallest of 1, 2 or 5 times a power of ten that is not less than x.
double round_step(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= x * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string mark_text(double x, double step) {
  const double size = std::abs(x);
  if (size != 0 && (size >= 1e7 || size < 1e-4)) return fmt::format("{:.3g}", x);
  const int decimals = std::clamp(int(-std::floor(std::log10(step) + 1e-9)), 0, 6);
  return decimals == 0 ? whole_number(x) : fmt::format("{:.{}f}", x, decimals);
}

}  // namespace

double AxisScale::place(double value) const {
  if (logarithmic) return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  return (value - low) / (high - low);
}

AxisScale scale_over(double low, double high, bool from_zero, bool may_be_logarithmic) {
  constexpr double kLargest = 1e300, kFactor = 100;
  low = std::clamp(low, -kLargest, kLargest), high = std::clamp(high, -kLargest, kLargest);
  AxisScale s{low, high, may_be_logarithmic && low > 0 && high / low > kFactor};
  if (s.logarithmic) {
    s.low = std::pow(10, std::floor(std::log10(low) * 2) / 2), s.high = high * 1.1;
    return s;
  }
  if (from_zero) s.low = std::min(0.0, low);
  if (s.high - s.low <= std::abs(s.high) * 1e-9) {  // a constant
    const double room = high == 0 ? 1 : std::abs(high) * 0.1;
    s.low = from_zero && low >= 0 ? 0 : low - room, s.high = high + room;
  } else {
    const double room = (s.high - s.low) * 0.05;
    s.high += room;
    if (!from_zero) s.low -= low >= 0 ? std::min(room, low) : room;
  }
  return s;
}

std::vector<AxisMark> marks_of(const AxisScale& s, int about, bool whole) {
  std::vector<AxisMark> marks;
  if (s.logarithmic) {
    const double decades = std::log10(s.high / s.low), step = std::max(1.0, std::ceil(decades / about));
    for (double e = std::ceil(std::log10(s.low) - 1e-9); e <= std::log10(s.high); e += step)
      marks.push_back({std::pow(10, e), mark_text(std::pow(10, e), std::pow(10, e))});
    return marks;
  }
  double step = round_step((s.high - s.low) / about);
  if (whole) step = std::max(1.0, step);
  constexpr int kMost = 50;  // for numbers so large that adding a step changes nothing
  for (double n = std::ceil(s.low / step - 1e-9); n * step <= s.high && int(marks.size()) < kMost; ++n)
    marks.push_back({n * step + 0.0, mark_text(n * step + 0.0, step)});  // 0, not -0
  return marks;
}

std::string for_both_screens(const std::function<std::string(double width)>& svg) {
  return fmt::format("<div class=\"broad\">{}</div><div class=\"narrow\">{}</div>", svg(kWideDrawing),
                     svg(kNarrowDrawing));
}

std::string resume_lines(const std::vector<double>& x, double top, double bottom) {
  constexpr double kLeastGap = 2;  // closer lines would be one
  std::string path;
  double previous = -kLeastGap;
  for (const double at : x) {
    if (at < previous + kLeastGap) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}", at, top, bottom);
    previous = at;
  }
  return path.empty() ? "" : fmt::format("<path class=\"resume\" d=\"{}\"/>", path);
}

std::string iteration_label(double left, double y) {
  constexpr double kHalfOfNumber = 14;  // of the first number, whose middle is at `left`
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">iteration</text>", left - kHalfOfNumber, y);
}

std::string iteration_texts(const ThreeIterations& at, double left, double right, double y) {
  const auto text = [y](double x, const char* anchor, i64 iteration) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                       whole_number(double(iteration)));
  };
  return iteration_label(left, y) + text(left, "start", at.first) + text((left + right) / 2, "middle", at.middle) +
         text(right, "end", at.last);
}

}  // namespace megalith::report
