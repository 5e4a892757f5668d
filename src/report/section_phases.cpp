// A stacked chart of the phases of iterations (--timing-log-level).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/axis.h"
#include "report/sections.h"

namespace megalith::report {

namespace {

constexpr double kPhaseHeight = 260, kPhaseLeft = 62, kPhaseRight = 10, kPhaseTop = 8, kPhaseBottom = 22;

// A layer of the chart: milliseconds by column.
struct PhaseLayer {
  std::string name;
  const char* colour;
  std::vector<double> ms{};
};

// Phases in their order within an iteration. `within`: the name of the phase that contains this phase.
struct PhaseName {
  const char *name, *colour, *within;
};
constexpr PhaseName kPhaseNames[] = {{"batch_generator", "#f0b429", "forward_backward"},
                                     {"forward_recv", "#c3d4e8", "forward_backward"},
                                     {"forward_compute", "#0b5fc0", "forward_backward"},
                                     {"backward_recv", "#9db7d5", "forward_backward"},
                                     {"backward_compute", "#08407f", "forward_backward"},
                                     {"forward_backward", "#4a86c8", nullptr},
                                     {"all_grads_sync", "#b3001b", nullptr},
                                     {"embedding_grads_all_reduce", "#e0796b", nullptr},
                                     {"params_all_gather", "#8d6cab", nullptr},
                                     {"optimizer", "#5aa469", nullptr}};

// Means of the points of each column.
std::vector<double> column_means(const MetricCurve* curve, const std::vector<i64>& ends) {
  std::vector<double> sums(ends.size()), counts(ends.size());
  if (!curve) return sums;
  for (const CurvePoint& p : curve->points) {
    const auto column = std::size_t(std::ranges::lower_bound(ends, p.iteration) - ends.begin());
    if (column < ends.size() && std::isfinite(p.value) && p.value >= 0) sums[column] += p.value, counts[column] += 1;
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (counts[i] > 0) sums[i] /= counts[i];
  return sums;
}

// The last iteration of each column.
std::vector<i64> columns_over(const MetricCurve& curve) {
  constexpr std::size_t kMost = 240;
  const std::size_t points = curve.points.size(), columns = std::min(points, kMost);
  std::vector<i64> ends;
  for (std::size_t i = 1; i <= columns; ++i) ends.push_back(curve.points[i * points / columns - 1].iteration);
  return ends;
}

void subtract(std::vector<double>& from, const std::vector<double>& what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::max(0.0, from[i] - what[i]);
}

std::vector<PhaseLayer> layers_of(const MetricLines& metrics, const std::vector<i64>& ends) {
  std::vector<PhaseLayer> layers;
  std::vector<double> rest = column_means(metrics.find("iteration_ms"), ends);
  for (const PhaseName& p : kPhaseNames) {
    const MetricCurve* curve = metrics.find(std::string("phase_") + p.name + "_ms");
    if (!curve) continue;
    PhaseLayer layer{p.name, p.colour, column_means(curve, ends)};
    for (const PhaseName& part : kPhaseNames)
      if (part.within && std::string_view(part.within) == p.name)
        for (const PhaseLayer& l : layers)
          if (l.name == part.name) subtract(layer.ms, l.ms), layer.name = std::string("rest of ") + p.name;
    subtract(rest, layer.ms);
    if (std::ranges::any_of(layer.ms, [](double x) { return x > 0; })) layers.push_back(std::move(layer));
  }
  if (!layers.empty()) layers.push_back({"between phases", "#d9dde3", rest});
  return layers;
}

// Without --timing-log-level.
std::vector<PhaseLayer> waiting_layers_of(const MetricLines& metrics, const std::vector<i64>& ends) {
  const MetricCurve* wait = metrics.find("data_wait_ms");
  if (!wait) return {};
  std::vector<PhaseLayer> layers = {
      {"waiting for data", "#f0b429", column_means(wait, ends)},
      {"rest of the iteration", "#4a86c8", column_means(metrics.find("iteration_ms"), ends)}};
  subtract(layers[1].ms, layers[0].ms);
  return layers;
}

double whole_of(const std::vector<PhaseLayer>& layers) {
  double sum = 0;
  for (const PhaseLayer& l : layers)
    for (const double x : l.ms) sum += x;
  return sum;
}

// The left edge of column `i` of `columns`.
double column_at(double width, std::size_t i, std::size_t columns) {
  return kPhaseLeft + (width - kPhaseLeft - kPhaseRight) * double(i) / double(columns);
}

std::string area(const PhaseLayer& layer, std::vector<double>& below, const AxisScale& y, double width) {
  const std::size_t n = below.size();
  const auto x_at = [&](std::size_t i) { return column_at(width, i, n); };
  const auto y_at = [&](double ms) {
    return kPhaseHeight - kPhaseBottom - y.place(ms) * (kPhaseHeight - kPhaseTop - kPhaseBottom);
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x_at(0), y_at(below[0]));
  std::string back;
  for (std::size_t i = 0; i < n; ++i) {
    path += fmt::format("V{:.1f}H{:.1f}", y_at(below[i] + layer.ms[i]), x_at(i + 1));
    back = fmt::format("V{:.1f}H{:.1f}", y_at(below[i]), x_at(i)) + back;
    below[i] += layer.ms[i];
  }
  return fmt::format("<path fill=\"{}\" d=\"{}{}Z\"/>", layer.colour, path, back);
}

std::string phase_axes(const AxisScale& y, const std::vector<i64>& ends, i64 first, double width) {
  const double bottom = kPhaseHeight - kPhaseBottom;
  std::string out;
  for (const AxisMark& m : marks_of(y, 5)) {
    const double at = bottom - y.place(m.value) * (bottom - kPhaseTop);
    out += fmt::format(
        "<path class=\"axis\" d=\"M{:.1f} {:.1f}h4\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kPhaseLeft - 4, at, kPhaseLeft - 6, at + 4, escaped(m.text));
  }
  return out +
         iteration_texts({first, ends[ends.size() / 2], ends.back()}, kPhaseLeft, width - kPhaseRight, bottom + 16);
}

std::string phase_resumes(const RunFiles& run, const std::vector<i64>& ends, i64 first, double width) {
  std::vector<double> x;
  for (const i64 iteration : resumes_of(run))
    if (iteration >= first && iteration < ends.back())
      x.push_back(column_at(width, std::size_t(std::ranges::upper_bound(ends, iteration) - ends.begin()), ends.size()));
  return resume_lines(x, kPhaseTop, kPhaseHeight - kPhaseBottom);
}

std::string phase_keys(const std::vector<PhaseLayer>& layers) {
  std::string key;
  const double whole = whole_of(layers);
  for (const PhaseLayer& l : layers) {
    double sum = 0;
    for (const double x : l.ms) sum += x;
    key += fmt::format("<span><i class=\"swatch\" style=\"background:{}\"></i>{} {:.1f}%</span>\n", l.colour,
                       escaped(l.name), whole > 0 ? 100 * sum / whole : 0);
  }
  return key;
}

}  // namespace

std::string phases_of(const RunFiles& run) {
  const MetricCurve* times = run.metrics.find("phase_forward_backward_ms");
  const bool has_phases = times && !times->points.empty();
  if (!has_phases) times = run.metrics.find("iteration_ms");
  if (!times || times->points.empty()) return {};
  const std::vector<i64> ends = columns_over(*times);
  const std::vector<PhaseLayer> layers =
      has_phases ? layers_of(run.metrics, ends) : waiting_layers_of(run.metrics, ends);
  if (layers.empty()) return {};
  std::vector<double> tops(ends.size());
  for (const PhaseLayer& l : layers)
    for (std::size_t i = 0; i < tops.size(); ++i) tops[i] += l.ms[i];
  const AxisScale y = scale_over(0, std::max(1e-6, *std::ranges::max_element(tops)), true, false);
  const i64 first = times->points.front().iteration;
  const auto svg = [&](double width) {
    std::vector<double> below(ends.size());
    std::string body;
    for (const PhaseLayer& l : layers) body += area(l, below, y, width);
    return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Phases of an iteration\">{}{}{}</svg>\n",
                       width, kPhaseHeight, body, phase_axes(y, ends, first, width),
                       phase_resumes(run, ends, first, width));
  };
  return fmt::format(
      "<figure class=\"wide\"><figcaption>Phases of an iteration, ms <span>on rank 0{}</span></figcaption>\n{}<div "
      "class=\"keys\">{}</div></figure>\n",
      has_phases ? "" : "; forward, backward and others: with --timing-log-level 1", for_both_screens(svg),
      phase_keys(layers));
}

}  // namespace megalith::report
