// What a run with --load may find where there is no checkpoint yet.
#pragma once
#include <string>

namespace megalith {

// What starts from random weights must not be what holds others, or is called a checkpoint: Error.
void check_no_weights(const std::string& dir);

}  // namespace megalith
