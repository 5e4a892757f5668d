// A case that Hugging Face transformers and PyTorch made (tests/golden/make.py): the model's files, one batch's logits,
// loss and gradients, and ten AdamW steps. Their settings: lr 1e-3, betas 0.9 0.95, eps 1e-8, weight decay 0.1 on
// matrices, clip 1.0.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

// Prints a line a quantity; whether all are within their bounds.
bool holds_hf(const std::string& dir, DType compute, const Backend& backend);

}  // namespace megalith
