// The possible content of --load if there is no checkpoint yet.
#pragma once
#include <string>

namespace megalith {

// Error if the directory holds weights, or is named like a checkpoint: then a run must not start from random weights.
void check_no_weights(const std::string& dir);

}  // namespace megalith
