// The stack: what this program is, was built with, and runs on.
#pragma once
#include <string>
#include <vector>

namespace megalith {

// Of the sources, "98e7c903fd2a" or "98e7c903fd2a with changes"; empty where they were no checkout.
const char* built_commit();

// "megalith 0.1.0", "commit 98e7c903fd2a", "GCC 12.2.0", ... What is not there has no entry. No paths, no names of
// machines.
std::vector<std::string> stack_parts();
std::string stack_line();  // the same, with "; " between

}  // namespace megalith
