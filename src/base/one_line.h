// An error of any kind as the one line that a user reads.
#pragma once
#include <exception>
#include <string>

namespace megalith {

// Our own errors are one line already. For those of the standard library it names the system's error, the path, and
// what to do. Control characters (of a path, of a file's text) become escapes.
std::string one_line(const std::exception& error);

}  // namespace megalith
