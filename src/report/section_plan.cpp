// What the plan predicts, next to what the run measured.
#include <fmt/core.h>

#include <algorithm>

#include "report/compare.h"
#include "report/sections.h"

namespace megalith::report {

namespace {

std::vector<std::string> plan_row(const std::string& what, double planned, double measured) {
  return {escaped(what), short_number(planned), short_number(measured),
          measured > 0 ? fmt::format("{:+.1f}%", 100 * (planned / measured - 1)) : "-"};
}

// The median of the second half: a run warms up.
std::optional<double> measured_ms(const MetricCurve* curve) {
  if (!curve) return {};
  MetricCurve warm = *curve;
  if (warm.points.size() > 2) warm.points.erase(warm.points.begin(), warm.points.begin() + i64(warm.points.size() / 2));
  return middle_of(&warm);
}

}  // namespace

std::string plan_of(const RunFiles& run) {
  if (!run.predicted) return {};
  HtmlTable table{.head = {"", "Planned", "Measured", "Planned over measured"}, .kind = "numbers"};
  if (const auto ms = measured_ms(run.metrics.find("iteration_ms")))
    table.rows.push_back(plan_row("Step time, ms", 1e3 * run.predicted->step_seconds, *ms));
  const RanksOfRun& ranks = run.ranks;
  if (!ranks.used.empty() && ranks.used.size() == ranks.planned.size()) {
    constexpr double kMiB = 1 << 20;
    const auto fullest = std::size_t(std::ranges::max_element(ranks.used) - ranks.used.begin());
    table.rows.push_back(plan_row(fmt::format("Memory of rank {}, MiB", fullest), ranks.planned[fullest] / kMiB,
                                  ranks.used[fullest] / kMiB));
  }
  if (table.rows.empty()) return {};
  return html_of(table) + "<p class=\"quiet\">Prediction: " + escaped(run.predicted->source) + "</p>\n";
}

}  // namespace megalith::report
