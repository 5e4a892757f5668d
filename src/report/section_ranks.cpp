// Differences between ranks (--log-straggler), and memory as planned and used.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "report/axis.h"
#include "report/sections.h"

namespace megalith::report {

namespace {

// Classes of a rank's own time relative to the median of the ranks. A ratio has the first class whose bound is above
// it.
struct HeatClass {
  double below;
  const char *colour, *text;
};
constexpr std::array<HeatClass, 6> kHeat = {{{0.98, "#cfe0f2", "faster"},
                                             {1.02, "#eef1f5", "within 2%"},
                                             {1.05, "#f7d9a8", "to 5%"},
                                             {1.1, "#e8a04c", "to 10%"},
                                             {1.25, "#c4502a", "to 25%"},
                                             {INFINITY, "#6d0f1f", "more"}}};

std::size_t heat_class(double ratio) {
  const auto it = std::ranges::find_if(kHeat, [&](const HeatClass& c) { return ratio < c.below; });
  return std::min(std::size_t(it - kHeat.begin()), kHeat.size() - 1);
}

// Ratios to the line's median: [rank][line].
std::vector<std::vector<double>> ratios_of(const std::vector<OwnWorkLine>& lines, std::size_t ranks) {
  std::vector<std::vector<double>> out(ranks, std::vector<double>(lines.size(), NAN));
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::vector<double> sorted = lines[l].ms;
    std::ranges::sort(sorted);
    const double middle = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;  // also of two ranks
    for (std::size_t r = 0; r < std::min(ranks, lines[l].ms.size()); ++r)
      if (middle > 0) out[r][l] = lines[l].ms[r] / middle;
  }
  return out;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values)
    if (v > most) most = v;  // false for NaN
  return most;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double v : values)
    if (std::isfinite(v)) sum += v, ++count;
  return count > 0 ? sum / count : NAN;
}

// "+15.5%" of 1.155.
std::string change_text(double ratio) { return fmt::format("{:+.1f}%", std::round(1000 * (ratio - 1)) / 10 + 0.0); }

constexpr double kMapLeft = 62, kMapRight = 10, kMapTop = 4;

// A rank's row: neighbouring columns of one class are one rectangle, appended to its class's path.
void add_row(const std::vector<double>& ratios, double map_width, double y, double height,
             std::array<std::string, kHeat.size()>& paths) {
  constexpr std::size_t kMostColumns = 180;
  const std::size_t columns = std::min(ratios.size(), kMostColumns);
  const auto class_at = [&](std::size_t c) {
    const auto first = ratios.begin() + std::ptrdiff_t(c * ratios.size() / columns);
    const auto last = ratios.begin() + std::ptrdiff_t((c + 1) * ratios.size() / columns);
    const double most = largest({first, last});
    return most > 0 ? heat_class(most) : std::size_t(1);
  };
  for (std::size_t begin = 0; begin < columns;) {
    std::size_t end = begin + 1;
    while (end < columns && class_at(end) == class_at(begin)) ++end;
    const double x = kMapLeft + map_width * double(begin) / double(columns);
    const double width = map_width * double(end - begin) / double(columns);
    paths[class_at(begin)] += fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", x, y, width, height, width);
    begin = end;
  }
}

std::string heat_map(const std::vector<OwnWorkLine>& lines, const std::vector<std::vector<double>>& ratios,
                     const std::vector<std::size_t>& shown, double width) {
  const double map_width = width - kMapLeft - kMapRight;
  const double height = shown.size() > 16 ? 8 : 16, bottom = kMapTop + height * double(shown.size());
  std::array<std::string, kHeat.size()> paths;
  std::string texts;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double y = kMapTop + height * double(i);
    add_row(ratios[shown[i]], map_width, y, height - 1, paths);
    if (height > 8 || i % 4 == 0)
      texts += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">rank {}</text>", kMapLeft - 6,
                           y + (height > 8 ? 12 : 8), shown[i]);
  }
  texts += iteration_texts({lines.front().iteration, lines[lines.size() / 2].iteration, lines.back().iteration},
                           kMapLeft, kMapLeft + map_width, bottom + 14);
  std::string body;
  for (std::size_t c = 0; c < kHeat.size(); ++c)
    if (!paths[c].empty()) body += fmt::format("<path fill=\"{}\" d=\"{}\"/>", kHeat[c].colour, paths[c]);
  return fmt::format("<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Own time of ranks\">{}{}</svg>\n", width,
                     bottom + 20, body, texts);
}

std::string heat_figure(const std::string& maps) {
  std::string key;
  for (const HeatClass& c : kHeat)
    key += fmt::format("<span><i class=\"swatch\" style=\"background:{}\"></i>{}</span>\n", c.colour, c.text);
  return fmt::format("<figure class=\"wide\">{}<div class=\"keys\">{}</div></figure>\n", maps, key);
}

std::string slow_ranks(const RunFiles& run, const std::vector<std::vector<double>>& ratios) {
  constexpr std::size_t kMost = 8;
  const auto& lines = run.ranks.own_work;
  std::vector<std::size_t> order(ratios.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::vector<double> means;
  for (const auto& row : ratios) means.push_back(std::isfinite(mean_of(row)) ? mean_of(row) : 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t r) { return means[r]; });
  std::vector<i64> slowest(ratios.size());
  for (const OwnWorkLine& line : lines) {
    const auto r = std::size_t(std::ranges::max_element(line.ms) - line.ms.begin());
    if (r < slowest.size()) ++slowest[r];
  }
  HtmlTable table{.head = {"Rank", "Host", "Over the median, mean", "at most", "Slowest in"}, .kind = "numbers"};
  for (const std::size_t r : order) {
    if (table.rows.size() == kMost) break;
    const std::string host = r < run.ranks.ranks.size() ? run.ranks.ranks[r].host : "";
    table.rows.push_back({fmt::format("{}", r), escaped(host), change_text(means[r]), change_text(largest(ratios[r])),
                          fmt::format("{} of {} lines", slowest[r], lines.size())});
  }
  return html_of(table);
}

std::string mib(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 20)); }

std::string memory_by_rank(const RanksOfRun& ranks) {
  constexpr std::size_t kMost = 8;
  std::vector<std::size_t> order(std::min(ranks.planned.size(), ranks.used.size()));
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t r) { return ranks.used[r]; });
  HtmlTable table{.head = {"Rank", "Host", "Planned, MiB", "Used, MiB", "Share"}, .kind = "numbers"};
  for (const std::size_t r : order) {
    if (table.rows.size() == kMost) break;
    const double share = ranks.planned[r] > 0 ? ranks.used[r] / ranks.planned[r] : NAN;
    const std::string text = std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-";
    table.rows.push_back({fmt::format("{}", r), escaped(r < ranks.ranks.size() ? ranks.ranks[r].host : ""),
                          mib(ranks.planned[r]), mib(ranks.used[r]),
                          share > 1 ? "<b class=\"bad\">" + text + "</b>" : text});
  }
  return table.rows.empty() ? "" : "<p>At the end, the fullest ranks:</p>\n" + html_of(table);
}

}  // namespace

std::string ranks_of(const RunFiles& run) {
  constexpr std::size_t kMost = 64;
  const auto& lines = run.ranks.own_work;
  if (lines.empty()) return {};
  std::size_t ranks = 0;
  for (const OwnWorkLine& line : lines) ranks = std::max(ranks, line.ms.size());
  constexpr std::size_t kSane = 100'000'000;  // cells
  if (ranks < 2 || ranks * lines.size() > kSane) return {};
  const auto ratios = ratios_of(lines, ranks);
  std::vector<std::size_t> shown(ranks);
  std::iota(shown.begin(), shown.end(), std::size_t(0));
  std::ranges::stable_sort(shown, std::greater<>(), [&](std::size_t r) { return largest(ratios[r]); });
  shown.resize(std::min(ranks, kMost));
  std::ranges::sort(shown);
  return fmt::format("<p>Each rank's own time of an iteration, over the median of the ranks{}.</p>\n",
                     ranks > kMost ? fmt::format(": the {} of {} that were slowest", kMost, ranks) : "") +
         heat_figure(for_both_screens([&](double width) { return heat_map(lines, ratios, shown, width); })) +
         slow_ranks(run, ratios);
}

std::string memory_of(const RunFiles& run) {
  HtmlTable table{.head = {"Rank 0", "MiB"}, .kind = "numbers"};
  for (const auto& [name, bytes] : run.ranks.memory) {
    if (bytes == 0) continue;
    const std::string text = name == "planned"           ? "<b>planned</b>"
                             : name == "used_peak"       ? "<b>used at most</b>"
                             : name.starts_with("peak_") ? "arena in " + escaped(name.substr(5)) + ", planned"
                                                         : escaped(name);
    table.rows.push_back({text, mib(bytes)});
  }
  return (table.rows.empty() ? "" : html_of(table)) + memory_by_rank(run.ranks);
}

}  // namespace megalith::report
