// The exact memory and the time of a layout. Its stages are planned as in the run itself, and timed by a simulated
// clock.
#pragma once
#include <memory>

#include "exec/sim/paper_backend.h"
#include "planner/stage_plans.h"
#include "planner/step_time.h"
#include "search/choice.h"

namespace megalith::search {

struct Price {
  FullestStage fullest{};  // bytes, as --dry-run prints them
  StepTime time{};
};

// Error if the rules between flags, or the planner, refuse the layout.
Price price_of(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts);

// The price with its plans. Reports verify these plans.
struct PricedPlans {
  Options options;
  std::unique_ptr<sim::PaperBackend> backend;
  std::unique_ptr<StagePlans> plans;
  Price price{};
};
std::unique_ptr<PricedPlans> priced_plans(const Options& base, const Choice& c, const std::string& layout,
                                          const DeviceFacts& facts, bool verifies = true);

}  // namespace megalith::search
