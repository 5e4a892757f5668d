// Megatron-LM's arguments that mean another model than ours, mostly with the same tensors. They are refused, never
// ignored.
#pragma once
#include "ckpt/torch/pickle.h"

namespace megalith {

// Error, naming each with its value, for what saved arguments say and our models don't have. An argument that is
// missing, as those of later versions are, has its default.
void refuse_unbuilt(const PickleValue& args);

}  // namespace megalith
