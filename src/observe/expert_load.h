// Balance of a step's tokens over experts, from the model's tallies (models/moe_tallies.h). A load is the maximum
// number of tokens divided by the mean; 1: balanced.
#pragma once
#include <optional>

#include "observe/metric.h"

namespace megalith {

// The largest load of all layers, over experts, and over the ranks that share a layer's experts. Empty if tokens are
// not counted, or if each rank has all experts.
std::optional<double> expert_load(const Seen& seen);
std::optional<double> rank_load(const Seen& seen);
// The fraction of dropped choices, with --moe-expert-capacity-factor; empty without it.
std::optional<double> dropped_tokens(const Seen& seen);

// With --moe-per-layer-logging, layer by layer: "expert_load_layer_3", and the mean of a loss over micro-batches and
// data-parallel ranks, "z_loss_layer_3".
std::vector<NamedValue> layer_loads(const Seen& seen);
std::vector<NamedValue> layer_losses(const Seen& seen);

}  // namespace megalith
