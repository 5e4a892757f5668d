// Gives a job's file to its scheduler.
#pragma once
#include <string>
#include <vector>

namespace megalith {

// Runs a program with `text` as its standard input. Returns its exit status; 128 + n if signal n ended it.
// Throws Error if the program is not there.
int run_with_input(const std::vector<std::string>& words, const std::string& text);

}  // namespace megalith
