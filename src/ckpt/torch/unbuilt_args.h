// Megatron-LM's arguments that make another model than ours, most of them out of the same tensors: what they say is
// refused, never passed over.
#pragma once
#include "ckpt/torch/pickle.h"

namespace megalith {

// Error, naming each with its value, for what saved arguments say and our models don't have. An argument that is
// missing, as those of later versions are, has its default.
void refuse_unbuilt(const PickleValue& args);

}  // namespace megalith
