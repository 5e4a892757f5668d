// The vocabulary of a tokenizer whose files do not exist. A plan needs only its size.
#pragma once
#include <optional>
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// The missing file of a tokenizer, "--vocab-file gpt2-vocab.json". Empty if none is missing or it needs none.
std::string absent_file(const TokenizerConfig& tokenizer);

// The number of entries of the public vocabulary for this type or model name.
std::optional<i64> public_vocabulary(const TokenizerConfig& tokenizer);

}  // namespace megalith
