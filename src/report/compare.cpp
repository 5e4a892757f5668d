#include "report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace megalith::report {

namespace {

const std::set<std::string> kPlaces = {"save",
                                       "load",
                                       "metrics_file",
                                       "tensorboard_dir",
                                       "data_cache_path",
                                       "wandb_save_dir",
                                       "gemm_cache_file",
                                       "non_persistent_global_ckpt_dir",
                                       "non_persistent_local_ckpt_dir"};

// NaN equals NaN here.
double gap(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : std::numeric_limits<double>::infinity();
}

LossComparison compare_curves(const MetricCurve& a, const MetricCurve& b) {
  LossComparison out{.name = a.name};
  for (std::size_t i = 0, k = 0; i < a.points.size() && k < b.points.size();) {
    const CurvePoint &x = a.points[i], &y = b.points[k];
    if (x.iteration != y.iteration) {
      ++(x.iteration < y.iteration ? i : k);
      continue;
    }
    ++i, ++k, ++out.common;
    const double d = gap(x.value, y.value);
    if (d == 0) continue;
    const LossComparison::At at{x.iteration, x.value, y.value};
    if (!out.first) out.first = at;
    if (!out.largest || d > out.difference()) out.largest = at;
  }
  return out;
}

// "tokens_per_second: 1000 and 1100, +10.0%".
std::string middle_line(const RunFiles& a, const RunFiles& b, const char* name, const char* what) {
  const auto x = middle_of(a.metrics.find(name)), y = middle_of(b.metrics.find(name));
  if (!x || !y) return {};
  const std::string change = *x != 0 ? fmt::format(", {:+.1f}%", 100 * (*y / *x - 1)) : "";
  return fmt::format("{}, the middle value: {:.6g} and {:.6g}{}\n", what, *x, *y, change);
}

std::string run_line(const char* letter, const RunFiles& run) {
  return fmt::format("{}: {}: {} metrics lines up to iteration {}\n", letter, run.dir, run.metrics.lines,
                     run.metrics.last_iteration());
}

}  // namespace

std::vector<ArgumentDifference> argument_differences(const RunFiles& a, const RunFiles& b) {
  std::map<std::string, ArgumentDifference> all;
  for (const auto& [name, value] : a.arguments) all[name] = {name, value, "-"};
  for (const auto& [name, value] : b.arguments) {
    auto& d = all.emplace(name, ArgumentDifference{name, "-", "-"}).first->second;
    d.b = value;
  }
  std::vector<ArgumentDifference> out;
  if (a.arguments.empty() || b.arguments.empty()) return out;  // one of them is unknown
  for (const auto& [name, d] : all)
    if (d.a != d.b && !kPlaces.contains(name)) out.push_back(d);
  return out;
}

double LossComparison::difference() const { return largest ? gap(largest->a, largest->b) : 0; }

std::vector<LossComparison> compare_losses(const RunFiles& a, const RunFiles& b) {
  std::vector<LossComparison> out;
  for (const MetricCurve& curve : a.metrics.curves)
    if (const MetricCurve* other = b.metrics.find(curve.name); other && is_loss(curve.name))
      if (LossComparison c = compare_curves(curve, *other); c.common > 0) out.push_back(std::move(c));
  return out;
}

std::string comparison_text(const LossComparison& c) {
  if (!c.first) return fmt::format("the same at all {} common iterations", c.common);
  return fmt::format(
      "first differs at iteration {}: {} and {}; most at iteration {}{}: {} and {}; {} common "
      "iterations",
      c.first->iteration, c.first->a, c.first->b, c.largest->iteration,
      std::isfinite(c.difference()) ? fmt::format(", by {:.3g}", c.difference()) : "", c.largest->a, c.largest->b,
      c.common);
}

std::optional<double> middle_of(const MetricCurve* curve) {
  std::vector<double> values;
  if (curve)
    for (const CurvePoint& p : curve->points)
      if (std::isfinite(p.value)) values.push_back(p.value);
  if (values.empty()) return {};
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

TextComparison compare_runs(const RunFiles& a, const RunFiles& b, double tolerance) {
  TextComparison out{.text = run_line("A", a) + run_line("B", b)};
  const auto flags = argument_differences(a, b);
  if (a.arguments.empty() || b.arguments.empty())
    out.text += "arguments: not known of both\n";
  else
    out.text += fmt::format("arguments: {}\n", flags.empty() ? "the same" : "these differ, A and B:");
  for (const ArgumentDifference& d : flags) out.text += fmt::format("  {}: {} and {}\n", d.name, d.a, d.b);
  const auto losses = compare_losses(a, b);
  if (losses.empty()) {
    out.differs = true;
    out.text += "losses: the runs have no iteration in common: nothing can be compared\n";
  }
  for (const LossComparison& c : losses) {
    const bool beyond = c.difference() > tolerance;
    out.differs |= beyond;
    const std::string within = c.first && !beyond ? fmt::format(" (within the tolerance {})", tolerance) : "";
    out.text += fmt::format("{}: {}{}\n", c.name, comparison_text(c), within);
  }
  out.text += middle_line(a, b, "iteration_ms", "milliseconds an iteration");
  out.text += middle_line(a, b, "tokens_per_second", "tokens/s");
  out.text += middle_line(a, b, "mfu", "MFU");
  if (a.time.wall() > 0 && b.time.wall() > 0)
    out.text += fmt::format("goodput: {:.1f}% of {:.1f} s and {:.1f}% of {:.1f} s\n", 100 * a.time.goodput(),
                            a.time.wall(), 100 * b.time.goodput(), b.time.wall());
  return out;
}

}  // namespace megalith::report
