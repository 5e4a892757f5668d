// The traffic between ranks in a step, computed from the plan.
#pragma once
#include <string>
#include <vector>

#include "step/step.h"

namespace megalith {

// What one rank sends in a step over a group of axes, with ring algorithms.
struct Sent {
  std::string axes;  // "tp_kv tp_rep"
  double bytes = 0;
  double times = 0;  // number of collectives, or of messages between pipeline stages
};
// In the order of the axes' first use. "pp": messages of this plan's stage to other stages.
std::vector<Sent> sent_a_step(const PlannedStep& step, i64 micro_batches);

}  // namespace megalith
