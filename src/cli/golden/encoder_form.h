// A case of a model with an encoder that Megatron Core made (shared/fixtures/make_megatron_encoder_fixtures.py):
// config.json has "model" and the flags, weights.safetensors the names of torch_dist with layers apart.
// golden.safetensors has one batch's logits, losses and all gradients, then ten AdamW steps of a batch each.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

bool is_encoder_case(const std::string& dir);

// Prints a line a quantity; whether all are within their bounds. What the file has and our model lacks is out of them.
bool holds_encoder(const std::string& dir, const Backend& backend);

}  // namespace megalith
