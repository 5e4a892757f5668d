#include "search/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "search/html.h"

namespace megalith::search {

namespace {

constexpr double kWidth = 1100;
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                    "#76b7b2", "#edc948", "#b07aa1", "#9c755f"};

std::string open(double height) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{:.0f}\" font-size=\"12\">\n",
                     int(kWidth), height);
}

std::string words(double x, double y, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, html_text(text));
}

std::string box(double x, double y, double width, double height, const char* colour, const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n", x, y,
      width, height, colour, html_text(title));
}

// Maps the values' range, with a tenth of margin on each side, to pixels.
struct Scale {
  double least = 0, most = 1, from = 0, to = 1;
  double at(double value) const { return from + (value - least) / (most - least) * (to - from); }
};
Scale scale_of(const std::vector<double>& values, double from, double to) {
  const auto [least, most] = std::ranges::minmax(values);
  const double margin = std::max(0.1 * (most - least), 1e-3 * std::max(1e-9, most));
  return {least - margin, most + margin, from, to};
}

// The largest ops, and all others as one.
std::vector<std::string> largest_parts(const std::vector<Bar>& bars) {
  std::map<std::string, double> sums;
  for (const Bar& bar : bars)
    for (const auto& [part, value] : bar.parts) sums[part] += value;
  std::vector<std::string> names;
  for (const auto& [part, sum] : sums)
    if (part.find(", lane") == part.npos) names.push_back(part);
  std::ranges::stable_sort(names, std::ranges::greater(), [&](const std::string& name) { return sums[name]; });
  if (names.size() >= std::size(kColours)) names.resize(std::size(kColours) - 1);
  return names;
}

}  // namespace

std::string scatter(const std::vector<Point>& points, const std::string& x_label, const std::string& y_label) {
  constexpr double kHeight = 360, kEdge = 60;
  if (points.empty()) return {};
  std::vector<double> xs, ys;
  for (const Point& p : points) xs.push_back(p.x), ys.push_back(p.y);
  const Scale x = scale_of(xs, kEdge, kWidth - 260), y = scale_of(ys, kHeight - kEdge, 20);
  std::string out = open(kHeight);
  for (const Point& p : points) {
    const bool best = std::ranges::none_of(
        points, [&](const Point& q) { return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y); });
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" stroke=\"#4e79a7\" fill=\"{}\"><title>{}: {:.4g}, {:.4g}"
        "</title></circle>\n",
        x.at(p.x), y.at(p.y), best ? "#4e79a7" : "white", html_text(p.label), p.x, p.y);
    if (best) out += words(x.at(p.x) + 9, y.at(p.y) + 4, p.label);
  }
  out += words(kWidth / 3, kHeight - 8, fmt::format("{}: {:.4g} to {:.4g}", x_label, x.least, x.most));
  return out + words(8, 14, fmt::format("{}: {:.4g} to {:.4g}", y_label, y.least, y.most)) + "</svg>\n";
}

std::string stacked(const std::vector<Bar>& bars) {
  constexpr double kRow = 24, kLeft = 320;
  const std::vector<std::string> names = largest_parts(bars);
  double most = 1e-12;
  std::vector<double> sums;
  for (const Bar& bar : bars) {
    double& sum = sums.emplace_back(0);
    for (const auto& [part, value] : bar.parts)
      if (part.find(", lane") == part.npos) sum += value;
    most = std::max(most, sum);
  }
  std::string out = open(kRow * double(bars.size() + 2));
  const auto width = [&](double value) { return value / most * (kWidth - kLeft - 10); };
  for (size_t i = 0; i < bars.size(); ++i) {
    double x = kLeft, told = 0;
    const double y = kRow * double(i) + 4;
    out += words(4, y + 14, bars[i].label);
    for (size_t k = 0; k < names.size(); ++k) {
      const auto part = bars[i].parts.find(names[k]);
      if (part == bars[i].parts.end()) continue;
      out += box(x, y, width(part->second), kRow - 6, kColours[k], fmt::format("{} {:.4g} s", names[k], part->second));
      x += width(part->second), told += part->second;
    }
    out += box(x, y, width(std::max(0.0, sums[i] - told)), kRow - 6, kColours[std::size(kColours) - 1], "others");
  }
  double x = 4;
  for (size_t k = 0; k < names.size(); x += 30 + 8 * double(names[k].size()), ++k)
    out += box(x, kRow * double(bars.size()) + 12, 12, 12, kColours[k], names[k]) +
           words(x + 16, kRow * double(bars.size()) + 22, names[k]);
  return out + "</svg>\n";
}

std::string tasks_in_time(const sim::PipelineRun& run) {
  constexpr size_t kMostStages = 32, kMostTasks = 160;
  constexpr double kRow = 20, kLeft = 60;
  double end = 1e-12;
  const size_t stages = std::min(run.stages.size(), kMostStages);
  for (size_t s = 0; s < stages; ++s)
    if (!run.stages[s].empty()) end = std::max(end, run.stages[s][std::min(kMostTasks, run.stages[s].size()) - 1].end);
  const auto x = [&](double seconds) { return kLeft + std::min(seconds / end, 1.0) * (kWidth - kLeft - 10); };
  std::string out = open(kRow * double(stages) + 8);
  for (size_t s = 0; s < stages; ++s) {
    out += words(4, kRow * double(s) + 16, fmt::format("stage {}", s));
    for (size_t i = 0; i < std::min(kMostTasks, run.stages[s].size()); ++i) {
      const sim::TimedTask& t = run.stages[s][i];
      out += box(x(t.start), kRow * double(s) + 4, x(t.end) - x(t.start), kRow - 4,
                 kColours[size_t(t.task.kind) % std::size(kColours)],
                 fmt::format("micro-batch {}, piece {}: {:.4g} s to {:.4g} s", t.task.micro_batch, t.task.chunk,
                             t.start, t.end));
    }
  }
  return out + "</svg>\n";
}

}  // namespace megalith::search
