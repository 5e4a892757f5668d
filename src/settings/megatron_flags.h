// Megatron-LM's flags that are no fields here, of all its releases: those that are accepted because they ask for what
// is always so, or steer machinery that is not here; those that are refused because what they ask for is not built; and
// old spellings of our fields.
#pragma once
#include <span>
#include <string>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> megatron_flags();

// The table as Markdown, a list a reason.
std::string megatron_flags_markdown();

}  // namespace megalith
