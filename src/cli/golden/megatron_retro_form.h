// A case from Megatron Core's RETRO. config.json has its flags; weights.safetensors has its parameters.
// golden.safetensors has ten batches of texts with neighbours, the logits, losses and gradients of the first, and ten
// AdamW steps.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

// Prints a line for each quantity. Returns whether all are within their bounds. A quantity that our model lacks is
// not.
bool holds_megatron_retro(const std::string& dir, const Backend& backend);

}  // namespace megalith
