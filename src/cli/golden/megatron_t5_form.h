// A case from Megatron Core's T5. config.json has its flags; weights.safetensors has its parameters.
// golden.safetensors has ten batches of pairs of texts, the logits, loss and gradients of the first, and ten AdamW
// steps.
#pragma once
#include <string>

#include "cli/golden/megatron_case.h"
#include "plan/interpreter.h"

namespace megalith {

// Prints a line for each quantity. Returns whether all are within their bounds.
bool holds_megatron_t5(const std::string& dir, const Backend& backend);

}  // namespace megalith
