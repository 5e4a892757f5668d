// Commands of other programs that convert checkpoints: Megatron's tools/checkpoint/convert.py (loaders and savers of
// all releases), Megatron Bridge (`megatron.bridge.convert`, `convert_checkpoints.py import|export`), and scripts
// that call it.
#pragma once
#include <optional>

#include "cli/foreign/translation.h"

namespace megalith {

// The equivalent `convert` command of ours. Empty if all words are ours. Flags of ours among the others are kept.
std::optional<Translation> translate_conversion(const std::vector<std::string>& words);

}  // namespace megalith
