// Decodes the tokens of a tokenizer.json to text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"

namespace megalith::hf {

// Rewrites the list of tokens by the decoder's rules. Joined, the list is the text. null joins with spaces. Fails,
// naming `where`, on an unsupported decoder.
void decode_tokens(const Json& spec, std::vector<std::string>& tokens, std::string_view where);

}  // namespace megalith::hf
