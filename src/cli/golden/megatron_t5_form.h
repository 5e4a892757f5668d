// A case that Megatron Core's T5 made: config.json has its flags, weights.safetensors its parameters.
// golden.safetensors has ten batches of pairs of texts, the first one's logits, loss and gradients, and ten AdamW
// steps.
#pragma once
#include <string>

#include "cli/golden/megatron_case.h"
#include "plan/interpreter.h"

namespace megalith {

// Prints a line a quantity; whether all are within their bounds.
bool holds_megatron_t5(const std::string& dir, const Backend& backend);

}  // namespace megalith
