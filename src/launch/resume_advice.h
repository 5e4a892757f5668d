// Finds the flags that a command needs to resume after a failure.
#pragma once
#include <string>
#include <vector>

namespace megalith::launch {

// One line. Empty if no flag is missing, or if a file holds the command's flags.
std::string resume_advice(const std::vector<std::string>& command);

}  // namespace megalith::launch
