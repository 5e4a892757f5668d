#include "report/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/html.h"

namespace megalith::report {

namespace {

std::vector<CurvePoint> finite_points(const MetricCurve* curve) {
  std::vector<CurvePoint> points;
  if (curve)
    std::ranges::copy_if(curve->points, std::back_inserter(points),
                         [](const CurvePoint& p) { return std::isfinite(p.value); });
  return points;
}

std::string where_text(const std::vector<i64>& iterations) {
  const double first = double(iterations.front()), last = double(iterations.back());
  if (iterations.size() == 1) return fmt::format("iteration {}", whole_number(first));
  if (iterations.size() == 2) return fmt::format("iterations {} and {}", whole_number(first), whole_number(last));
  return fmt::format("{} lines, iterations {} to {}", whole_number(double(iterations.size())), whole_number(first),
                     whole_number(last));
}

// Whether `rule` is true for two means: of the last `recent` lines, and of the kBefore lines before them.
void windows(const MetricCurve* curve, std::size_t recent, const std::string& what,
             const std::function<bool(double now, double before)>& rule, std::vector<Finding>& out) {
  constexpr std::size_t kBefore = 60, kFewest = 10;
  const auto points = finite_points(curve);
  std::vector<double> sums = {0};
  for (const CurvePoint& p : points) sums.push_back(sums.back() + p.value);
  std::vector<i64> where;
  for (std::size_t end = recent + kFewest; end <= points.size(); ++end) {
    const std::size_t middle = end - recent, begin = middle > kBefore ? middle - kBefore : 0;
    const double now = (sums[end] - sums[middle]) / double(recent);
    const double before = (sums[middle] - sums[begin]) / double(middle - begin);
    if (rule(now, before)) where.push_back(points[end - 1].iteration);
  }
  if (!where.empty()) out.push_back({what, where_text(where)});
}

void points_where(const MetricCurve* curve, const std::string& what, const std::function<bool(double)>& rule,
                  std::vector<Finding>& out) {
  std::vector<i64> where;
  if (curve)
    for (const CurvePoint& p : curve->points)
      if (rule(p.value)) where.push_back(p.iteration);
  if (!where.empty()) out.push_back({what, where_text(where)});
}

}  // namespace

std::vector<Finding> findings(const RunFiles& run) {
  std::vector<Finding> out;
  const MetricLines& m = run.metrics;
  windows(
      m.find("iteration_ms"), 5, "iteration time of 5 lines more than 10% above that of the 60 before",
      [](double now, double before) { return now > 1.1 * before; }, out);
  windows(
      m.find("tflops"), 10, "TFLOP/s of 10 lines less than half of the 60 before",
      [](double now, double before) { return now < 0.5 * before; }, out);
  windows(
      m.find("grad_norm"), 1, "gradient norm more than 10 times the mean of the 60 lines before",
      [](double now, double before) { return now > 10 * before; }, out);
  for (const MetricCurve& curve : m.curves)
    if (is_loss(curve.name) || curve.name == "grad_norm")
      points_where(
          &curve, curve.name + " is not finite", [](double x) { return !std::isfinite(x); }, out);
  points_where(
      m.find("skipped_iterations"), "iterations were skipped", [](double x) { return x > 0; }, out);
  points_where(
      m.find("nan_iterations"), "iterations had losses that were not finite", [](double x) { return x > 0; }, out);
  constexpr double kGood = 0.9, kEnough = 600;  // seconds; a short run is mostly startup
  if (run.time.wall() > kEnough && run.time.goodput() < kGood)
    out.push_back({fmt::format("goodput {:.1f}%, below 90%", 100 * run.time.goodput()), "the whole run"});
  return out;
}

std::vector<SlowIteration> slow_iterations(const MetricCurve* curve) {
  constexpr std::size_t kAround = 10, kFewest = 6;
  constexpr double kSlower = 1.1;
  const auto points = finite_points(curve);
  std::vector<SlowIteration> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<double> around;
    for (std::size_t k = i > kAround ? i - kAround : 0; k < std::min(points.size(), i + kAround + 1); ++k)
      if (k != i) around.push_back(points[k].value);
    if (around.size() < kFewest) continue;
    const auto middle = around.begin() + std::ptrdiff_t(around.size() / 2);
    std::ranges::nth_element(around, middle);
    if (points[i].value > kSlower * *middle)
      out.push_back({points[i].iteration, points[i].value, *middle, i > 0 ? points[i - 1].iteration : 0});
  }
  std::ranges::stable_sort(
      out, [](const SlowIteration& a, const SlowIteration& b) { return a.ms / a.neighbours > b.ms / b.neighbours; });
  return out;
}

}  // namespace megalith::report
