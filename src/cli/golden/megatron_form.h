// A case from Megatron Core (tests/golden/make_megatron.py). config.json has its flags; model.safetensors has its
// parameters. golden.safetensors has batches of several micro-batches a step. For each micro-batch of a step it has
// logits, losses, auxiliary values and the router's choices. Then it has all gradients of the step, and three AdamW
// steps.
#pragma once
#include <string>

#include "cli/golden/megatron_case.h"
#include "plan/interpreter.h"

namespace megalith {

// Prints a line for each quantity. Returns whether all are within their bounds. A quantity that our model lacks is
// not.
bool holds_megatron(const std::string& dir, const Backend& backend);

}  // namespace megalith
