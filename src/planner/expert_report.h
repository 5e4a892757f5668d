// Rows of experts, for the plan report.
#pragma once
#include <string>

#include "settings/options.h"

namespace megalith {

// How many rows of experts a rank has in a layer, if balanced and at worst. What there is room for and in how many
// parts, and what the forward's buffers of them take. Empty without experts.
std::string expert_lines(const Options& options);

}  // namespace megalith
