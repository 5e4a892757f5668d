// The report's tables.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/compare.h"
#include "report/findings.h"
#include "report/sections.h"

namespace megalith::report {

namespace {

constexpr std::size_t kMostRows = 20;

// "and 12 more".
std::string rest(std::size_t all) {
  return all > kMostRows ? fmt::format("<p class=\"quiet\">and {} more</p>\n", all - kMostRows) : "";
}

// The shortest text that reads back as the same number.
std::string exact(double x) { return std::isfinite(x) ? fmt::format("{}", x) : short_number(x); }

// A name may be broken after each _ or dot, so not within a word.
std::string breakable(const std::string& name) {
  std::string out;
  for (const char c : escaped(name)) out += std::string(1, c) + (c == '_' || c == '.' ? "<wbr>" : "");
  return out;
}

// First, last, minimum, maximum and mean of the finite values.
std::vector<std::string> numbers_row(const MetricCurve& c) {
  double least = std::numeric_limits<double>::infinity(), greatest = -least, sum = 0;
  i64 finite = 0;
  for (const CurvePoint& p : c.points) {
    if (!std::isfinite(p.value)) continue;
    least = std::min(least, p.value), greatest = std::max(greatest, p.value), sum += p.value, ++finite;
  }
  const auto of = [&](double x) { return finite == 0 ? std::string("-") : exact(x); };
  return {breakable(c.name),
          fmt::format("{}", c.points.size()),
          exact(c.points.front().value),
          exact(c.points.back().value),
          of(least),
          of(greatest),
          finite == 0 ? "-" : fmt::format("{:.6g}", sum / double(finite)),
          i64(c.points.size()) == finite ? "" : fmt::format("{}", i64(c.points.size()) - finite)};
}

}  // namespace

std::string findings_of(const RunFiles& run) {
  HtmlTable table{.head = {"What", "Where"}};
  for (const Finding& f : findings(run)) table.rows.push_back({escaped(f.what), escaped(f.where)});
  if (!table.rows.empty()) return html_of(table);
  return run.metrics.lines > 0 ? "<p class=\"good\">Nothing: no rule would have fired.</p>\n" : "";
}

std::string incidents_of(const RunFiles& run) {
  HtmlTable table{.head = {"Iteration", "Reason", "Rank", "Layer", "Tensor", "Documents", "File"}, .kind = "incidents"};
  for (const IncidentFile& i : run.incidents)
    if (table.rows.size() < kMostRows)
      table.rows.push_back({fmt::format("{}", i.iteration), escaped(i.reason), escaped(i.rank), escaped(i.layer),
                            breakable(i.tensor), breakable(i.documents), escaped(i.file)});
  return table.rows.empty() ? "" : html_of(without_empty_columns(std::move(table))) + rest(run.incidents.size());
}

std::string slow_iterations_of(const RunFiles& run) {
  const auto slow = slow_iterations(run.metrics.find("iteration_ms"));
  if (slow.empty()) return {};
  HtmlTable table{.head = {"Iteration", "Milliseconds", "Its neighbours", "Slower by"}, .kind = "numbers"};
  for (const SlowIteration& s : slow)
    if (table.rows.size() < kMostRows)
      table.rows.push_back({whole_number(double(s.iteration)), fmt::format("{:.2f}", s.ms),
                            fmt::format("{:.2f}", s.neighbours),
                            fmt::format("{:.0f}%", 100 * (s.ms / s.neighbours - 1))});
  return fmt::format(
             "<p>{} of {} lines are more than 10% slower than the middle one of the 20 lines around them.</p>\n",
             whole_number(double(slow.size())), whole_number(double(run.metrics.find("iteration_ms")->points.size()))) +
         html_of(table) + rest(slow.size());
}

std::string saves_of(const RunFiles& run) {
  HtmlTable table{.head = {"Iteration", "MiB", "Written"}, .kind = "numbers"};
  const std::size_t skipped = run.saves.size() > kMostRows ? run.saves.size() - kMostRows : 0;
  for (std::size_t i = skipped; i < run.saves.size(); ++i)
    table.rows.push_back({whole_number(double(run.saves[i].iteration)),
                          fmt::format("{:.1f}", double(run.saves[i].bytes) / (1 << 20)), date_text(run.saves[i].at)});
  if (table.rows.empty()) return {};
  return html_of(table) + (skipped > 0 ? fmt::format("<p class=\"quiet\">and {} earlier ones</p>\n", skipped) : "");
}

std::string numbers_of(const RunFiles& run) {
  constexpr std::size_t kMost = 200;
  HtmlTable table{.head = {"Metric", "Lines", "First", "Last", "Least", "Greatest", "Mean", "Not finite"},
                  .kind = "numbers long"};
  for (const MetricCurve& c : run.metrics.curves)
    if (table.rows.size() < kMost) table.rows.push_back(numbers_row(c));
  if (table.rows.empty()) return {};
  return fmt::format("<p class=\"quiet\">{} lines of {}</p>\n", run.metrics.lines, escaped(run.metrics_path)) +
         html_of(table);
}

std::string against(const RunFiles& run, const RunFiles& baseline) {
  HtmlTable losses{.head = {"Loss", "This run and the baseline"}};
  for (const LossComparison& c : compare_losses(run, baseline))
    losses.rows.push_back({escaped(c.name), escaped(comparison_text(c))});
  HtmlTable flags{.head = {"Argument", "This run", "Baseline"}};
  for (const ArgumentDifference& d : argument_differences(run, baseline))
    flags.rows.push_back({escaped(d.name), escaped(d.a), escaped(d.b)});
  std::string out = losses.rows.empty() ? "<p>The runs have no iteration in common.</p>\n" : html_of(losses);
  if (!flags.rows.empty()) return out + html_of(flags);
  const bool known = !run.arguments.empty() && !baseline.arguments.empty();
  return out + (known ? "<p>The arguments are the same, but for places of files.</p>\n"
                      : "<p>The arguments of both are not known.</p>\n");
}

std::string arguments_of(const RunFiles& run) {
  if (run.arguments.empty()) return {};
  std::string out = fmt::format("<p class=\"quiet\">{}</p>\n<div class=\"columns\">\n", escaped(run.arguments_path));
  for (const auto& [name, value] : run.arguments)
    out += fmt::format("<p>{} <b>{}</b></p>\n", escaped(name), escaped(value));
  return out + "</div>\n";
}

std::string environment_of(const RunFiles& run) {
  constexpr std::size_t kMost = 10;
  HtmlTable table{.head = {"Start", "Began", "From iteration", "Stack"}};
  std::vector<std::vector<std::string>> rows;
  for (const LedgerRecord& r : run.ledger)
    if (r.event == LedgerRecord::Event::start)
      rows.push_back(
          {fmt::format("{}", rows.size() + 1), date_text(r.at), whole_number(double(r.iteration)), escaped(r.stack)});
  const std::size_t skipped = rows.size() > kMost ? rows.size() - kMost : 0;
  table.rows.assign(rows.begin() + std::ptrdiff_t(skipped), rows.end());
  if (rows.empty()) return {};
  return html_of(table) + (skipped > 0 ? fmt::format("<p class=\"quiet\">and {} earlier starts</p>\n", skipped) : "");
}

}  // namespace megalith::report
