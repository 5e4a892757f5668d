// Models and tokenizers by their names on the Hugging Face hub. They are found in its local cache, never fetched.
#pragma once
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// The folder of the cached model, if `given` is its name and not a local file or folder; otherwise `given`. The log
// says what was found. flag: the flag that has the name.
std::string find_on_hub(const std::string& given, const char* flag);

// The same for --tokenizer-model of types that read a folder. If the name is not cached it fails with the command to
// fetch it.
void find_tokenizer_on_hub(TokenizerConfig& tokenizer);

}  // namespace megalith
