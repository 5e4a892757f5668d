// The report's curves: losses and other metrics.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "report/chart.h"
#include "report/sections.h"

namespace megalith::report {

namespace {

struct KnownCurve {
  const char* name;
  ChartSpec spec;
};

const std::vector<KnownCurve>& known_curves() {
  static const std::vector<KnownCurve> known = {
      {"lm_loss", {.title = "lm loss", .wide = true}},
      {"grad_norm", {.title = "Gradient norm"}},
      {"learning_rate", {.title = "Learning rate", .from_zero = true}},
      {"tokens_per_second", {.title = "Tokens per second", .from_zero = true, .is_speed = true}},
      {"iteration_ms", {.title = "Time of an iteration", .unit = "ms", .from_zero = true, .is_speed = true}},
      {"mfu", {.title = "MFU", .unit = "%", .scale = 100, .from_zero = true}},
      {"tflops", {.title = "TFLOP/s per device", .from_zero = true, .is_speed = true}},
      {"data_wait_ms", {.title = "Wait for data in an iteration", .unit = "ms", .from_zero = true}},
      {"global_batch_size", {.title = "Global batch size", .unit = "samples", .from_zero = true}},
      {"loss_scale", {.title = "Loss scale"}},
      {"params_norm", {.title = "Norm of the parameters"}},
      {"optimizer/momentum_l2", {.title = "Norm of the first moments"}},
      {"optimizer/variance_l2", {.title = "Norm of the second moments"}},
  };
  return known;
}

bool is_constant(const MetricCurve* c) {
  if (!c) return true;
  for (const CurvePoint& p : c->points)
    if (p.value != c->points.front().value) return false;
  return true;
}

// Metrics that are skipped if they are constant.
bool is_dull(const std::string& name, const MetricCurve* run, const MetricCurve* baseline) {
  return (name == "loss_scale" || name == "global_batch_size") && is_constant(run) && is_constant(baseline);
}

bool is_validation(const std::string& name) { return name.starts_with("validation_"); }

bool is_other_loss(const std::string& name) { return is_loss(name) && !name.starts_with("moe/") && name != "lm_loss"; }

const MetricCurve* in(const RunFiles* run, const std::string& name) { return run ? run->metrics.find(name) : nullptr; }

std::string drawn(ChartSpec spec, const std::string& name, const RunFiles& run, const RunFiles* baseline) {
  spec.resumes = resumes_of(run);
  const bool dots = is_validation(name);
  return chart(spec, {{in(&run, name), dots, false}, {in(baseline, name), dots, true}});
}

// What the dashed lines in the charts are.
std::string resumes_text(const RunFiles& run) {
  constexpr std::size_t kMost = 12;
  std::vector<i64> shown = resumes_of(run);
  const i64 last = run.metrics.last_iteration();
  std::erase_if(shown, [last](i64 iteration) { return iteration >= last; });
  if (shown.empty()) return {};
  std::string list;
  for (std::size_t i = 0; i < std::min(shown.size(), kMost); ++i)
    list += (i == 0 ? "" : ", ") + whole_number(double(shown[i]));
  const std::size_t rest = shown.size() - std::min(shown.size(), kMost);
  return fmt::format("<p class=\"quiet\"><i class=\"key resumed\"></i>resumed after iteration{} {}{}</p>\n",
                     shown.size() == 1 ? "" : "s", list, rest > 0 ? fmt::format(" and {} more", rest) : "");
}

}  // namespace

std::vector<i64> resumes_of(const RunFiles& run) {
  std::set<i64> iterations;
  for (const LedgerRecord& r : run.ledger)
    if (r.event == LedgerRecord::Event::start && r.iteration > 0) iterations.insert(r.iteration);
  return {iterations.begin(), iterations.end()};
}

std::string curves_of(const RunFiles& run, const RunFiles* baseline) {
  std::string out;
  std::set<std::string> done;
  for (const KnownCurve& k : known_curves()) {
    if (!is_dull(k.name, in(&run, k.name), in(baseline, k.name))) out += drawn(k.spec, k.name, run, baseline);
    done.insert(k.name);
    if (done.size() > 1) continue;  // other losses follow the first
    constexpr std::size_t kMost = 12;
    std::size_t charts = 0;
    for (const MetricCurve& c : run.metrics.curves) {
      if (!is_other_loss(c.name) || charts++ >= kMost) continue;
      std::string title = c.name;
      for (char& letter : title)
        if (letter == '_') letter = ' ';
      out += drawn({.title = title, .wide = c.name == "validation_loss"}, c.name, run, baseline);
    }
  }
  out += phases_of(run);
  return out.empty() ? out : resumes_text(run) + "<div class=\"charts\">\n" + out + "</div>\n";
}

}  // namespace megalith::report
