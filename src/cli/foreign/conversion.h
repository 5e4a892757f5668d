// Conversions of checkpoints as other programs are told of them: Megatron's tools/checkpoint/convert.py (the loaders
// and savers of all its releases), Megatron Bridge (`megatron.bridge.convert`, `convert_checkpoints.py import|export`)
// and what calls it.
#pragma once
#include <optional>

#include "cli/foreign/translation.h"

namespace megalith {

// The `convert` of ours; none where no word is another program's, so that ours reads the words itself. Flags of ours
// beside those of others are kept.
std::optional<Translation> translate_conversion(const std::vector<std::string>& words);

}  // namespace megalith
