// The losses of a router as graph.
#pragma once
#include "models/blocks/router.h"

namespace megalith {

// Adds the losses of one layer to parts.router. z [s,b,e] logits; choice [s,b,k]: the k largest scores, without bias.
void add_router_losses(Parts& parts, const std::string& name, Value z, Value choice);

// Whether a layer has any loss that needs the experts' counts of choices by scores only.
bool counts_choices(const Parts& parts);

// The number of tokens that chose each expert: [e] f32, a sum over the ranks that have tokens.
Value count_choices(Parts& parts, Value choice);

}  // namespace megalith
