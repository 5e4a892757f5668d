// Models and tokenizers given by their name on the Hugging Face hub: found in its local cache, never fetched.
#pragma once
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// The folder of the cached model where `given` is no file or folder here but the name of one; else `given` as it is.
// A line of the log says what was found. flag: what it was given to.
std::string find_on_hub(const std::string& given, const char* flag);

// The same for --tokenizer-model of the types that read a folder. Fails, with the command that fetches it, where the
// name is not cached.
void find_tokenizer_on_hub(TokenizerConfig& tokenizer);

}  // namespace megalith
