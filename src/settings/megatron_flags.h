// Megatron-LM's flags, of all its releases, that are not fields here. Some are accepted: they request the default
// behaviour, or configure code that this program lacks. Some are refused: they request features that are not built.
// Others are old spellings of our fields.
#pragma once
#include <span>
#include <string>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> megatron_flags();

// The table as Markdown, a list a reason.
std::string megatron_flags_markdown();

}  // namespace megalith
