// For readers that open files by streams.
#pragma once
#include <string>

namespace megalith {

// Error, which begins with `what`, if the path is a pipe, a socket or a device: opening a pipe waits for its writer.
// Missing files and directories are left to the reader.
void check_no_pipe(const std::string& what, const std::string& path);

}  // namespace megalith
