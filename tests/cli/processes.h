// Finds the processes of a run that a test has started.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace megalith::test {

// The ranks of a run, by ascending process id: processes of the program that have this text in their arguments. The
// text is usually a folder of the test.
std::vector<pid_t> processes_with(const std::string& text);

}  // namespace megalith::test
