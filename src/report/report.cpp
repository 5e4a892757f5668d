#include "report/report.h"

#include <fmt/core.h>

#include "report/sections.h"

namespace megalith::report {

namespace {

std::string key_of(const RunFiles& run, const RunFiles& baseline) {
  std::string name = run_name(run), other = run_name(baseline);
  if (name == other) name = folder_name(run), other = folder_name(baseline);
  if (name == other) name = run.dir, other = baseline.dir;
  return fmt::format("<p class=\"quiet\"><i class=\"key\"></i>{}<i class=\"key b\"></i>{}, the baseline</p>\n",
                     escaped(name), escaped(other));
}

std::string notes_of(const RunFiles& run) {
  std::string out;
  for (const std::string& note : run.notes) out += "<p>" + escaped(note) + "</p>\n";
  return out;
}

}  // namespace

std::string html_report(const RunFiles& run, const RunFiles* baseline, const GpuJoin* gpus) {
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"quiet\">{}</p>\n", escaped(run_name(run)), escaped(run.dir));
  body += facts_of(run);
  if (!run.metrics_path.empty() && run.metrics.lines == 0)
    body += "<p class=\"quiet\">The metrics file holds no lines yet.</p>\n";
  const std::string curves = curves_of(run, baseline);
  body += section("Curves", curves.empty() || !baseline ? curves : key_of(run, *baseline) + curves);
  if (baseline) body += section("Against the baseline", against(run, *baseline));
  body += section("Plan and measurement", plan_of(run));
  body += section("Where the time went", times_of(run));
  body += section("Ranks", ranks_of(run));
  body += section("Memory", memory_of(run));
  body += section("Look at these", findings_of(run));
  body += section("Incidents", incidents_of(run));
  body += section("Slow iterations", slow_iterations_of(run));
  if (gpus) body += section("GPUs during slow iterations", gpus_of(*gpus));
  body += section("Checkpoints", saves_of(run));
  body += section("Numbers", numbers_of(run));
  body += section("Environment", environment_of(run));
  body += section("Arguments", arguments_of(run));
  body += section("Notes", notes_of(run));
  return page(run_name(run) + " - Megalith report", body);
}

}  // namespace megalith::report
