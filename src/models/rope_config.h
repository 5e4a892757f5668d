// The flags of rope scaling (ops/rope_scaling.h). Values that the flags leave open follow from the model.
#pragma once
#include "ops/rope_scaling.h"

namespace megalith {

namespace config {
class FieldList;
}

void list_fields(RopeScaling& c, config::FieldList& f);

// Sets the kind, and values that are 0. `latent`: for multi-head latent attention, where a factor above 1 means yarn,
// as in Megatron. A second call changes nothing.
void resolve(RopeScaling& c, bool latent, i64 max_position_embeddings);

}  // namespace megalith
