#include "search/price.h"

#include "exec/sim/facts_clock.h"
#include "settings/compatibility.h"
#include "step/pipeline.h"

namespace megalith::search {

std::unique_ptr<PricedPlans> priced_plans(const Options& base, const Choice& c, const std::string& layout,
                                          const DeviceFacts& facts, bool verifies) {
  auto out = std::make_unique<PricedPlans>();
  out->options = with(base, c, layout);
  check_compatibility(out->options);
  out->backend = sim::make_paper_backend(facts, !out->options.train.device.no_symmetric_memory);
  out->plans = std::make_unique<StagePlans>(out->options, *out->backend, nullptr, 0, verifies);
  const PlannedStep& first = out->plans->at(0);
  out->backend->connect(first.plan, Coord{}, links_of(first, Coord{}));  // as a dry run does
  out->price.fullest = fullest_stage(*out->plans, false);
  out->price.time = step_time(*out->plans, sim::FactsClock(out->backend->facts()));
  return out;
}

Price price_of(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts) {
  return priced_plans(base, c, layout, facts, false)->price;
}

}  // namespace megalith::search
