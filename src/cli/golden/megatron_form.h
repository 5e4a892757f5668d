// A case that Megatron Core made (tests/golden/make_megatron.py): config.json has its flags, model.safetensors its
// parameters' names. golden.safetensors has batches of several micro-batches a step. Of each micro-batch of a step it
// has logits, losses, auxiliary values and the router's choices. Then come all gradients of the step, and three AdamW
// steps.
#pragma once
#include <string>

#include "cli/golden/megatron_case.h"
#include "plan/interpreter.h"

namespace megalith {

// Prints a line a quantity; whether all are within their bounds. What the file has and our model lacks is out of them.
bool holds_megatron(const std::string& dir, const Backend& backend);

}  // namespace megalith
