// What a command lacks for a start after a fault to go on where the run was.
#pragma once
#include <string>
#include <vector>

namespace megalith::launch {

// One line, or nothing if it lacks nothing, or keeps its flags in a file.
std::string resume_advice(const std::vector<std::string>& command);

}  // namespace megalith::launch
