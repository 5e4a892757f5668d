// An error of any kind as the one line that a user reads.
#pragma once
#include <exception>
#include <string>

namespace megalith {

// Our own errors say it already. Those of the standard library are named by what the system said and of which path, and
// what to do; control characters (of a path, of a file's text) are escapes.
std::string one_line(const std::exception& error);

}  // namespace megalith
