// Rows of experts, for the plan report.
#pragma once
#include <string>

#include "settings/options.h"

namespace megalith {

// The rows of experts that a rank has in a layer, balanced and in the worst case. Also the rows that the buffers
// hold, the number of parts, and the bytes of the forward's buffers. Empty without experts.
std::string expert_lines(const Options& options);

}  // namespace megalith
