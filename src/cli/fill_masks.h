// `generate` for a BERT: the most likely tokens for each [MASK] of the prompt.
#pragma once
#include <string>

#include "plan/interpreter.h"
#include "resume/stored_model.h"
#include "tokens/tokenizer.h"

namespace megalith {

struct MaskedPrompt {
  std::string load, text;
  i64 ckpt_step = 0;
  DType compute = DType::f32;
  i64 guesses = 5;  // printed for each mask
};

// Prints the text with the most likely tokens, then a line for each mask. Error if the prompt has no [MASK], or if
// the tokenizer lacks [CLS], [SEP] or [MASK].
void fill_masks(const MaskedPrompt& prompt, const ModelConfig& model, const Tokenizer& tokenizer,
                const Backend& backend);

}  // namespace megalith
