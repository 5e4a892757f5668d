// A case from Hugging Face transformers and PyTorch (tests/golden/make.py): the model's files, the logits, loss and
// gradients of one batch, and ten AdamW steps. Settings: lr 1e-3, betas 0.9 0.95, eps 1e-8, weight decay 0.1 on
// matrices, clip 1.0.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

// Prints a line for each quantity. Returns whether all are within their bounds.
bool holds_hf(const std::string& dir, DType compute, const Backend& backend);

}  // namespace megalith
