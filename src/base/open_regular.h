// Opens files of which a user may give any path.
#pragma once
#include <fstream>
#include <string>

namespace megalith {

// For reading, in binary. The stream has failed if `path` is not a regular file: a pipe would make the reader wait, and
// a device may have no end.
std::ifstream open_regular(const std::string& path);

}  // namespace megalith
