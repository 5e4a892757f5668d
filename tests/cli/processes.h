// Finds the processes of a run that this test has started.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace megalith::test {

// Processes of the program with this text in their arguments (a folder of the test), by ascending id: a run's ranks.
std::vector<pid_t> processes_with(const std::string& text);

}  // namespace megalith::test
