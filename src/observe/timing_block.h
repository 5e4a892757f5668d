// Times of the ranks in Megatron's block of lines, by its names.
#pragma once
#include <string>
#include <vector>

#include "base/named_value.h"
#include "settings/options.h"

namespace megalith {

// `seconds`: by rank, each rank's in the same order; 0: the rank has none. "" if none has any.
std::string timing_block(const std::vector<std::vector<NamedValue>>& seconds, TimingLogOption option);

// The times of this rank as a text, and back, for an exchange.
std::string timing_text(const std::vector<NamedValue>& seconds);
std::vector<NamedValue> timing_of_text(const std::string& text);

}  // namespace megalith
