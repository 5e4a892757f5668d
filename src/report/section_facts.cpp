// The report's head: the run, its model, machine and settings.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "report/compare.h"
#include "report/sections.h"

namespace megalith::report {

std::string argument(const RunFiles& run, const std::string& name) {
  const auto it = std::ranges::find(run.arguments, name, &ArgumentText::first);
  return it == run.arguments.end() ? "" : it->second;
}

std::string folder_name(const RunFiles& run) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(run.dir, error);
  if (error) path = run.dir;
  const std::string name = path.filename().string();
  return name.empty() ? run.dir : name;
}

std::string run_name(const RunFiles& run) {
  const std::string named = argument(run, "run_name");
  return named.empty() || named == "None" ? folder_name(run) : named;
}

std::string facts_of(const RunFiles& run) {
  std::string out;
  const auto fact = [&](const std::string& what, const std::string& value) {
    out += fmt::format("<div class=\"fact\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(what));
  };
  const auto last = [&](const char* name, const char* what) {
    const MetricCurve* c = run.metrics.find(name);
    if (c && !c->points.empty()) fact(what, short_number(c->points.back().value));
  };
  const MetricLines& m = run.metrics;
  if (m.lines > 0) {
    const std::string asked = argument(run, "train_iters");
    const bool known = !asked.empty() && asked.size() < 16 && asked != "0" &&
                       asked.find_first_not_of("0123456789") == std::string::npos;
    const double done = double(m.last_iteration());
    fact("iterations",
         known ? fmt::format("{} of {}", whole_number(done), whole_number(std::stod(asked))) : whole_number(done));
  }
  last("lm_loss", "lm loss, last");
  last("validation_loss", "validation loss, last");
  if (const auto speed = middle_of(m.find("tokens_per_second"))) fact("tokens/s, middle", short_number(*speed));
  if (const auto ms = middle_of(m.find("iteration_ms"))) fact("ms an iteration, middle", short_number(*ms));
  if (const auto mfu = middle_of(m.find("mfu"))) fact("MFU, middle", fmt::format("{:.1f}%", 100 * *mfu));
  if (run.time.wall() > 0) {
    fact(fmt::format("goodput in {} start{}", run.time.starts, run.time.starts == 1 ? "" : "s"),
         fmt::format("{:.1f}%", 100 * run.time.goodput()));
    fact("wall time", time_span(run.time.wall()));
  }
  if (!run.incidents.empty()) fact("incidents", fmt::format("{}", run.incidents.size()));
  return out.empty() ? "" : "<div class=\"facts\">\n" + out + "</div>\n";
}

}  // namespace megalith::report
