// Updates of state in the host's memory, in windows of device memory (ops/state_window.h).
//
// A window is a sixteenth of the state, with at most kMostElements parameters' ranges. With `overlap` there are two
// lanes, one to the device and one back. Window i + 2 is fetched while i is updated and stored, once i - 1 is stored.
// So three windows are on the device at once, in memory that activations no longer need. Both directions of the bus are
// busy. The first two are fetched during the computation of the gradient norm. Without `overlap` windows are processed
// one at a time.
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
