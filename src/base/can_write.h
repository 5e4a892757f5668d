// Whether a file can be written, tested before hours of work.
#pragma once
#include <string>

namespace megalith {

// False if the path is a directory, its directory does not exist, or the user lacks the rights. Creates nothing. A disk
// may still become full.
bool can_write(const std::string& path);

}  // namespace megalith
