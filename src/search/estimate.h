// A layout's step time and memory put together from its blocks' costs: near enough to leave most layouts
// unplanned.
#pragma once
#include "search/block_costs.h"

namespace megalith::search {

struct Estimate {
  double seconds = 0;
  double error = 0;  // how far the time of the whole plan may lie below, as a share
  double bytes = 0;  // of the fullest stage, with what the context takes
};

// The most that `error` is: where a step has few tasks, a stage's ends weigh more.
inline constexpr double kError = 0.03;
// How far the memory of a layout that is planned as a whole may lie below its estimate: a share, and bytes.
inline constexpr double kMemoryError = 0.03, kMemorySlack = 128 << 20;

// Micro-batches that a stage holds activations of, by pieces of the whole stage: from the schedules themselves.
class InFlight {
 public:
  double of(const Choice& c, int stage, int micro_batches);

 private:
  std::map<std::vector<i64>, double> known_;
};

// `options`: with(base, choice). Error where layers can't be shared out.
Estimate estimate(const Options& options, const Choice& c, BlockCosts& costs, InFlight& in_flight,
                  const DeviceFacts& facts);

}  // namespace megalith::search
