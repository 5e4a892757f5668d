#include "cli/plan_search.h"

#include <chrono>
#include <fstream>

#include "base/mistakes.h"

namespace megalith {

search::Asked asked_of(const PlanFlags& flags, i64 gpus) {
  return {.gpus = gpus,
          .headroom = flags.memory_headroom,
          .tokens = flags.tokens,
          .prices = flags.prices,
          .max_days = flags.max_days,
          .max_cost = flags.max_cost,
          .objective = flags.objective,
          .sites = flags.between};
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

search::Outcome search_layouts(search::Searcher& searcher, const PlanFlags& flags, search::Asked& asked, size_t top) {
  const double start = now();
  search::Outcome out = searcher.run({.gpus = asked.gpus,
                                      .top = top,
                                      .headroom = flags.memory_headroom,
                                      .wanted = search::parse_wanted(flags.explain),
                                      .objective = flags.objective,
                                      .most_seconds = search::most_step_seconds(searcher.base(), asked),
                                      .site_gpus = asked.sites.common()});
  asked.seconds = now() - start;
  return out;
}

void MistakenCounts::add(const search::Outcome& found) {
  if (found.mistakes.empty()) any_right_ = true;
  last_ = found.mistakes;
}

void MistakenCounts::done() const {
  if (!any_right_) throw Mistakes(last_);
}

void write_report(const char* flag, const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path, std::ios::trunc);
  out << text << std::flush;
  check(bool(out), "{} {}: can't be written: name another file", flag, path);
}

}  // namespace megalith
