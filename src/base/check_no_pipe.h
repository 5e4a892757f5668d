// For readers that open files by streams.
#pragma once
#include <string>

namespace megalith {

// Error, which begins with `what`, if a pipe or a socket is there, or a device: to open a pipe waits for who writes it.
// What is not there, and directories, are for the reader to tell.
void check_no_pipe(const std::string& what, const std::string& path);

}  // namespace megalith
