// Updates of state in the host's memory, in windows of the device's (ops/state_window.h).
//
// A window is a sixteenth of all that is there, of at most kMostElements parameters' stretches. With `overlap`, on two
// lanes, one to the device and one back: window i + 2 is fetched while i is updated and stored, once i - 1 is stored;
// so three are in the device's memory at once, which at that time the activations have left, and both directions of the
// bus are busy. The first two are fetched beside the gradients' norm. Otherwise windows take turns, one at a
// time.
#pragma once
#include "optim/config.h"
#include "passes/pass.h"

namespace megalith {

constexpr int kFetchLane = 4, kStoreLane = 5;

struct StreamSpec {
  static constexpr i64 kMostElements = i64{1} << 23;  // 96 MiB with main weights
  bool overlap = false;
  i64 window = 0;  // parameters' elements in one; 0: as said above
};

// Whether the node is an update of state in the host's memory.
bool is_on_host(const Graph& g, const Node& n);

// After all passes that move nodes of the update.
bool stream_state(Graph& g, const StreamSpec& spec);
Pass stream_state_pass(const OptimizerConfig& config);

}  // namespace megalith
