// The flags of rope scaling (ops/rope_scaling.h), and what follows from the model where they leave something open.
#pragma once
#include "ops/rope_scaling.h"

namespace megalith {

namespace config {
class FieldList;
}

void list_fields(RopeScaling& c, config::FieldList& f);

// Fills in the kind and what is 0. `latent`: of multi-head latent attention, for which a factor above 1 means yarn, as
// in Megatron. Twice is the same as once.
void resolve(RopeScaling& c, bool latent, i64 max_position_embeddings);

}  // namespace megalith
