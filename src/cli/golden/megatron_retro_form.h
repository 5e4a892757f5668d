// A case that Megatron Core's RETRO made: config.json has its flags, weights.safetensors its parameters.
// golden.safetensors has ten batches of texts with neighbours, the first one's logits, losses and gradients, and ten
// AdamW steps.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

// Prints a line a quantity; whether all are within their bounds. What the file has and our model lacks is out of them.
bool holds_megatron_retro(const std::string& dir, const Backend& backend);

}  // namespace megalith
