// NeMo's `section.key=value` command lines, and Megatron Bridge's, as a command of ours.
#pragma once
#include <optional>

#include "cli/foreign/translation.h"

namespace megalith {

// Of the words behind `script` (the command's name as it was called); none where no word is such a setting. Flags of
// ours among them are kept.
std::optional<Translation> translate_nemo(std::string_view script, const std::vector<std::string>& words);

}  // namespace megalith
