// Whether two paths mean the same place, or one a place in the other.
#pragma once
#include <string>

namespace megalith {

// The canonical form of a path, whether it exists or not: absolute, without links, dots or a trailing slash.
std::string canonical_path(const std::string& path);
// Whether it is the directory, or in it.
bool lies_in(const std::string& path, const std::string& dir);

}  // namespace megalith
