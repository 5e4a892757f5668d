#include "report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/axis.h"
#include "report/decimate.h"
#include "report/html.h"

namespace megalith::report {

namespace {

constexpr double kHeight = 230, kLeft = 62, kRight = 10, kTop = 8, kBottom = 22;

struct Frame {
  double width;
  AxisScale x, y;
  double scale;  // of values

  double at_x(i64 iteration) const { return kLeft + x.place(double(iteration)) * (width - kLeft - kRight); }
  double at_y(double value) const { return kHeight - kBottom - y.place(value * scale) * (kHeight - kTop - kBottom); }
};

struct Bounds {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool is_empty() const { return low > high; }
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
};

std::string axes(const Frame& f) {
  std::string out;
  const double bottom = kHeight - kBottom, right = f.width - kRight;
  for (const AxisMark& m : marks_of(f.y, 5)) {
    const double y = kHeight - kBottom - f.y.place(m.value) * (kHeight - kTop - kBottom);
    out += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kLeft, y, right, kLeft - 6, y + 4, escaped(m.text));
  }
  for (const AxisMark& m : marks_of(f.x, f.width > 600 ? 10 : 5, true)) {
    const double x = kLeft + f.x.place(m.value) * (f.width - kLeft - kRight);
    const char* anchor = x > right - 14 ? "end" : "middle";
    out += fmt::format(
        "<path class=\"axis\" d=\"M{:.1f} {:.1f}v4\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"{}\">{}</text>",
        x, bottom, x, bottom + 16, anchor, escaped(m.text));
  }
  out += iteration_label(kLeft, bottom + 16);
  return out + fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", kLeft, kTop, bottom, right);
}

// The line is interrupted where a value is not finite, and a mark at the top shows it.
std::string line_of(const Frame& f, const std::vector<CurvePoint>& points, bool baseline) {
  std::string path, odd;
  bool draws = false;
  for (const CurvePoint& p : points) {
    if (!std::isfinite(p.value)) {
      odd += fmt::format("M{:.1f} {:.1f}v9", f.at_x(p.iteration), kTop);
      draws = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", draws ? "L" : "M", f.at_x(p.iteration), f.at_y(p.value));
    draws = true;
  }
  std::string out = path.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>", baseline ? "base" : "run", path);
  if (!odd.empty()) out += fmt::format("<path class=\"odd{}\" d=\"{}\"/>", baseline ? " b" : "", odd);
  return out;
}

std::string dots_of(const Frame& f, const std::vector<CurvePoint>& points, const char* kind, double radius) {
  std::string out;
  for (const CurvePoint& p : points)
    if (std::isfinite(p.value))
      out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", kind, f.at_x(p.iteration),
                         f.at_y(p.value), radius);
  return out;
}

// A start after the last line of the file trained no iteration.
std::string resumes_in(const Frame& f, const std::vector<i64>& resumes) {
  std::vector<double> x;
  for (const i64 iteration : resumes)
    if (double(iteration) >= f.x.low && double(iteration) < f.x.high) x.push_back(f.at_x(iteration));
  return resume_lines(x, kTop, kHeight - kBottom);
}

std::string drawn(const Frame& f, const ChartCurve& c) {
  constexpr std::size_t kFew = 2, kDots = 200;
  const auto points = decimate(c.curve->points, i64(f.width - kLeft - kRight) / 2);
  std::string out = line_of(f, points, c.baseline);
  const double radius = c.dots ? 3 : 2.2;
  if ((c.dots && points.size() <= kDots) || points.size() <= kFew)
    out += dots_of(f, points, c.baseline ? "dot b" : "dot", radius);
  return out;
}

// For the figure's caption: the last value of the run's first curve, and what the axis and the marks mean.
std::string caption(const ChartSpec& spec, const ChartCurve& c, const AxisScale& y) {
  if (!c.curve || c.curve->points.empty()) return {};
  const CurvePoint& p = c.curve->points.back();
  std::string text = fmt::format("{}{} at iteration {}", short_number(p.value * spec.scale),
                                 spec.unit.empty() ? "" : " " + spec.unit, whole_number(double(p.iteration)));
  if (y.logarithmic) text += "; logarithmic";
  if (std::ranges::any_of(c.curve->points, [](const CurvePoint& q) { return !std::isfinite(q.value); }))
    text += "; red mark: not finite";
  return text;
}

std::string svg_of(const Frame& f, const ChartSpec& spec, const std::vector<ChartCurve>& curves) {
  std::string body = axes(f) + resumes_in(f, spec.resumes);
  for (const bool baseline : {true, false})  // the run's curve is above the baseline's
    for (const ChartCurve& c : curves)
      if (c.curve && c.baseline == baseline) body += drawn(f, c);
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>", f.width, kHeight,
                     escaped(spec.title), body);
}

}  // namespace

std::string chart(const ChartSpec& spec, const std::vector<ChartCurve>& curves) {
  Bounds x, y;
  bool any = false;
  for (const ChartCurve& c : curves) {
    if (!c.curve) continue;
    for (const CurvePoint& p : c.curve->points) {
      any = true, x.take(double(p.iteration));
      if (std::isfinite(p.value * spec.scale)) y.take(p.value * spec.scale);
    }
  }
  if (!any) return {};
  if (y.is_empty()) y = {0, 1};
  const Frame frame{kNarrowDrawing,
                    {x.low, x.high > x.low ? x.high : x.low + 1},
                    scale_over(y.low, y.high, spec.from_zero, !spec.from_zero || spec.is_speed),
                    spec.scale};
  const auto svg = [&](double width) {
    Frame f = frame;
    f.width = width;
    return svg_of(f, spec, curves);
  };
  return fmt::format(
      "<figure{}><figcaption>{} <span>{}</span></figcaption>\n{}</figure>\n", spec.wide ? " class=\"wide\"" : "",
      escaped(spec.title + (spec.unit.empty() ? "" : ", " + spec.unit)),
      escaped(caption(spec, curves.front(), frame.y)), spec.wide ? for_both_screens(svg) : svg(kNarrowDrawing));
}

}  // namespace megalith::report
