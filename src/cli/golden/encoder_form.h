// A case of an encoder model from Megatron Core (shared/fixtures/make_megatron_encoder_fixtures.py). config.json has
// "model" and the flags; weights.safetensors has the names of torch_dist, one tensor per layer. golden.safetensors
// has the logits, losses and all gradients of one batch, then ten AdamW steps of one batch each.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

bool is_encoder_case(const std::string& dir);

// Prints a line for each quantity. Returns whether all are within their bounds. A quantity that our model lacks is
// not.
bool holds_encoder(const std::string& dir, const Backend& backend);

}  // namespace megalith
