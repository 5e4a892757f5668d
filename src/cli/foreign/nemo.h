// Translates `section.key=value` command lines of NeMo and Megatron Bridge to a command of ours.
#pragma once
#include <optional>

#include "cli/foreign/translation.h"

namespace megalith {

// Translates the words after `script` (the command's name as called). Empty if no word is such a setting. Flags of
// ours among them are kept.
std::optional<Translation> translate_nemo(std::string_view script, const std::vector<std::string>& words);

}  // namespace megalith
