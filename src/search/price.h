// What a layout takes, to the byte: its stages are planned as the run itself plans them, and run against the clock.
#pragma once
#include <memory>

#include "exec/sim/paper_backend.h"
#include "planner/stage_plans.h"
#include "planner/step_time.h"
#include "search/choice.h"

namespace megalith::search {

struct Price {
  FullestStage fullest{};  // bytes: those that --dry-run prints
  StepTime time{};
};

// Error where the rules between flags, or the planner, refuse it.
Price price_of(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts);

// The same with the plans that it was found by: for reports of them.
struct PricedPlans {
  Options options;
  std::unique_ptr<sim::PaperBackend> backend;
  std::unique_ptr<StagePlans> plans;
  Price price{};
};
std::unique_ptr<PricedPlans> priced_plans(const Options& base, const Choice& c, const std::string& layout,
                                          const DeviceFacts& facts);

}  // namespace megalith::search
