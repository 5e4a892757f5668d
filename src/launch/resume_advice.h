// Finds what a command lacks to resume its run after a fault.
#pragma once
#include <string>
#include <vector>

namespace megalith::launch {

// One line. Empty if nothing is missing, or if a file holds the command's flags.
std::string resume_advice(const std::vector<std::string>& command);

}  // namespace megalith::launch
