// The vocabulary that a tokenizer would have whose files are not here: a plan needs no more of it.
#pragma once
#include <optional>
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// What is not here of the tokenizer's files, "--vocab-file gpt2-vocab.json"; empty if all is, or it needs none.
std::string absent_file(const TokenizerConfig& tokenizer);

// The entries of the public vocabulary that the type, or the model's name, stands for.
std::optional<i64> public_vocabulary(const TokenizerConfig& tokenizer);

}  // namespace megalith
