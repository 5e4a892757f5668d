// Megatron-LM's flags that are no fields here: those that are accepted because they ask for what is always so, or for a
// choice that does not exist here; those that are refused because what they ask for is not built; and old ones with the
// name that replaced them.
#pragma once
#include <span>
#include <string>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> megatron_flags();

// The table as Markdown, a list a reason.
std::string megatron_flags_markdown();

}  // namespace megalith
