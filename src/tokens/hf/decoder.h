// From the tokens of a tokenizer.json back to text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"

namespace megalith::hf {

// Rewrites the list of tokens as the decoder says; joined it is the text. null joins with spaces. Fails, naming
// `where`, if there is a decoder that we don't have.
void decode_tokens(const Json& spec, std::vector<std::string>& tokens, std::string_view where);

}  // namespace megalith::hf
