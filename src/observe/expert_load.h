// How evenly a step's tokens lie over experts, by what the model tallied (models/moe_tallies.h). A load is the largest
// number of tokens over the mean; 1: all have as many.
#pragma once
#include <optional>

#include "observe/metric.h"

namespace megalith {

// Of experts, and of the ranks that share a layer's experts: of all layers the largest. None where nothing is counted,
// or where each rank has all experts.
std::optional<double> expert_load(const Seen& seen);
std::optional<double> rank_load(const Seen& seen);
// What part of all choices found no room, with --moe-expert-capacity-factor; none without.
std::optional<double> dropped_tokens(const Seen& seen);

// With --moe-per-layer-logging, layer by layer: "expert_load_layer_3", and the mean of a loss over micro-batches and
// data-parallel ranks, "z_loss_layer_3".
std::vector<NamedValue> layer_loads(const Seen& seen);
std::vector<NamedValue> layer_losses(const Seen& seen);

}  // namespace megalith
