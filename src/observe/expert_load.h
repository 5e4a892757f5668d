// Balance of a step's tokens over experts, from the model's tallies (models/moe_tallies.h). A load is the maximum
// number of tokens divided by the mean; 1: balanced.
#pragma once
#include <optional>

#include "observe/metric.h"

namespace megalith {

// Over experts, and over the ranks that share a layer's experts: the largest of all layers. None if nothing is counted,
// or if each rank has all experts.
std::optional<double> expert_load(const Seen& seen);
std::optional<double> rank_load(const Seen& seen);
// The fraction of choices that were dropped, with --moe-expert-capacity-factor; none without.
std::optional<double> dropped_tokens(const Seen& seen);

// With --moe-per-layer-logging, layer by layer: "expert_load_layer_3", and the mean of a loss over micro-batches and
// data-parallel ranks, "z_loss_layer_3".
std::vector<NamedValue> layer_loads(const Seen& seen);
std::vector<NamedValue> layer_losses(const Seen& seen);

}  // namespace megalith
