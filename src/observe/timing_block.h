// Formats the ranks' times as Megatron's block of lines, under its names.
#pragma once
#include <string>
#include <vector>

#include "base/named_value.h"
#include "settings/options.h"

namespace megalith {

// `seconds`: for each rank, in the same order; 0: the rank has none. Returns "" if no rank has any.
std::string timing_block(const std::vector<std::vector<NamedValue>>& seconds, TimingLogOption option);

// Encodes this rank's times as text for an exchange, and decodes them.
std::string timing_text(const std::vector<NamedValue>& seconds);
std::vector<NamedValue> timing_of_text(const std::string& text);

}  // namespace megalith
