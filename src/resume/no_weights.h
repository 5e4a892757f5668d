// Checks a --load directory that has no checkpoint yet.
#pragma once
#include <string>

namespace megalith {

// Error if the directory holds weights, or has the name of a checkpoint: the run must not start from random weights.
void check_no_weights(const std::string& dir);

}  // namespace megalith
