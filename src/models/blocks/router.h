// The router of a mixture of experts, and the losses that balance it. Formulas: ops/route.h, ops/router_scores.h.
//   loss, as logged                value of a micro-batch                                         tokens
//   load_balancing_loss            E sum_i f_i Q_i / T                                            of each dp rank
//   seq_load_balancing_loss        the same for each sequence, mean over sequences                of each sequence
//   global_load_balancing_loss     the same, f over the step's micro-batches so far               of all ranks
//   z_loss                         mean of (log sum_i e^z_i)^2                                    of each dp rank
// f_i: the share of expert i in all choices of the k largest scores, without bias, groups and capacity; a constant.
// Q_i: its auxiliary scores, summed over tokens; T: the number of tokens. Sources: Fedus 2021, Zoph 2022, DeepSeek-V3
// 2024, Qiu 2025. A value is over all tensor- and context-parallel ranks together. The objective of a step adds each
// loss times its coefficient. The loss is the mean of its values over micro-batches and dp ranks, summed over layers.
// The global loss is not divided by the number of dp ranks, because each has a part of one value. The log shows the
// mean over layers, without coefficient.
#pragma once
#include "models/blocks/parts.h"

namespace megalith {

struct RouterResult {
  Value p;       // [s,b,k] weights, f32 at least
  Value choice;  // [s,b,k] i32, experts in ascending order; -1: dropped by capacity
};

// x [s,b,h], in the stream's layout. `name`: prefix of the parameters' names, as "decoder.layers.0.mlp.".
RouterResult route(Parts& parts, const std::string& name, Value x);

// The names of the losses that a model has: those whose coefficients are not 0.
std::vector<std::string> router_terms(const MoeConfig& config);

// Adds the losses of all routers so far to the model's terms.
void add_router_terms(Parts& parts);

}  // namespace megalith
