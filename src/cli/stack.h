// The stack: this program's version, its build and its environment.
#pragma once
#include <string>
#include <vector>

namespace megalith {

// Of the sources, "98e7c903fd2a" or "98e7c903fd2a with changes". Empty if they were not a checkout.
const char* built_commit();

// "megalith 0.1.0", "commit 98e7c903fd2a", "GCC 12.2.0", ... Missing parts have no entry. No paths, no names of
// machines.
std::vector<std::string> stack_parts();
std::string stack_line();  // the same, joined by "; "

}  // namespace megalith
