// The values that the forward keeps for the backward of its layers, and the modules that keep them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace megalith {

// A module keeps what its gradient reads: its input, attention its result too. Names are Megatron's where it has one:
// attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm; and for a dense MLP mlp_fc1, mlp_act, mlp_fc2.
inline constexpr std::string_view kOffloadModules[] = {"attn_norm", "qkv_linear", "core_attn", "attn_proj",
                                                       "mlp_norm",  "mlp_fc1",    "mlp_act",   "mlp_fc2"};

struct KeptValue {
  Value value;                       // that others may be views of
  std::vector<std::string> modules;  // in the forward's order
  std::string stack;
  i64 layer = -1;            // of the first module
  int made = -1, read = -1;  // nodes: the producer, and the backward's first reader
  std::vector<int> views;    // nodes of the forward that change its type, in order
};

// In the order in which they are computed. Excluded: results of the step, values that are updated in place, and values
// in transfer on a lane.
std::vector<KeptValue> kept_values(const Graph& g);

}  // namespace megalith
