// The full report of one layout.
#include <fmt/format.h>

#include "exec/sim/facts_clock.h"
#include "planner/plan_report.h"
#include "search/report.h"

namespace megalith::search {

std::string explained(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts,
                      const Asked& asked) {
  Options sized = base;
  sized.parallel.world_size = asked.gpus;
  const std::unique_ptr<PricedPlans> priced = priced_plans(sized, c, layout, facts);
  StagePlans& plans = *priced->plans;
  const FullestStage& full = priced->price.fullest;
  std::string out = fmt::format("{}\n{}", to_string(c), plan_report(priced->options, plans.at(full.stage), full.need));
  const auto add = [&](const std::string& text) {
    if (!text.empty()) out += "\n" + text;
  };
  add(stages_report(plans)), add(time_report(plans));
  add(pipeline_drawing(plans, sim::FactsClock(facts)));
  return out;
}

}  // namespace megalith::search
